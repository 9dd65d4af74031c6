"""Where a thing was used: told by whoever keeps account of it, asked by whoever shows the thing.

Neither knows the other.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One use, and the page that tells more of it."""

    at: datetime
    by: str  # what used it, as people know it; "" when nobody said
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Uses:
    """The latest uses, newest first, and where all of them are listed."""

    latest: Sequence[Use] = ()
    url: str = ""
    more: bool = False  # than the latest


# The uses of a thing, with no more than so many of the latest. Inside `acting`.
Tell = Callable[[UUID, UUID, int], Uses]
_tellers: list[Tell] = []


def teller(tell: Tell) -> Tell:
    """Have this asked for the uses of a thing, by its account and its id."""
    _tellers.append(tell)
    return tell


def uses_of(account_id: UUID, pk: UUID, *, limit: int) -> Uses:
    """Where a thing was used. Inside `acting`."""
    for tell in _tellers:
        if (told := tell(account_id, pk, limit)).latest:
            return told
    return Uses()
