"""What other apps keep of what may be erased: copies of things, and things kept of a person.

Whoever erases something says so here, inside its transaction, and does not know who listens.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from kmapp.ledger.actions import Recording

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


@dataclass(frozen=True, slots=True, kw_only=True)
class OfPeople:
    """How an app counts, and erases, what it keeps under people's ids (`user_id`)."""

    count: Callable[[UUID, Collection[str]], int]
    forget: Callable[[UUID, Collection[str], Recording], None]


_of_people: list[OfPeople] = []


def keeps_of_people(kept: OfPeople) -> None:
    """Say that an app keeps something under people's ids."""
    _of_people.append(kept)


def count_kept_of(account_id: UUID, people: Collection[str]) -> int:
    """How much all apps keep under these ids. Inside `acting`."""
    return sum(kept.count(account_id, people) for kept in _of_people) if people else 0


def forget_kept_of(account_id: UUID, people: Collection[str], commit: Recording) -> None:
    """Everybody erases what is kept under these ids, in this commit. Inside `acting`."""
    for kept in _of_people if people else ():
        kept.forget(account_id, people, commit)
