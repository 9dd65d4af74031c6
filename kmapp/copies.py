"""Copies that other apps keep of what may be erased.

Whoever erases something says so here, inside its transaction, and does not know who listens.
"""

from collections.abc import Callable, Sequence
from uuid import UUID

Forget = Callable[[UUID, Sequence[UUID]], None]
_keepers: list[Forget] = []


def keeper(forget: Forget) -> Forget:
    """Have this called with the account and the ids of what is erased in it."""
    _keepers.append(forget)
    return forget


def forget_copies(account_id: UUID, ids: Sequence[UUID]) -> None:
    """Everybody who keeps copies of these removes them now. Inside `acting`."""
    for forget in _keepers:
        forget(account_id, ids)
