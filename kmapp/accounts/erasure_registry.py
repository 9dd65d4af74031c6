"""Registry of data that must be erased together with other data.

Apps register how they erase copies of objects and data stored under a person's id. The code that
erases something calls the registry inside its transaction and does not know the other apps.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from kmapp.ledger.actions import Recording

Erase = Callable[[UUID, Sequence[UUID]], None]
_erase_handlers: list[Erase] = []


def register_erase_handler(erase: Erase) -> Erase:
    """Register a function that receives an account and the ids of objects erased in it."""
    _erase_handlers.append(erase)
    return erase


def erase_copies(account_id: UUID, ids: Sequence[UUID]) -> None:
    """Erase the copies that apps hold of these objects. Inside `acting`."""
    for erase in _erase_handlers:
        erase(account_id, ids)


Prepare = Callable[[UUID], None]
_prepare_handlers: list[Prepare] = []


def register_prepare_handler(prepare: Prepare) -> Prepare:
    """Register a function that completes data which erasures depend on."""
    _prepare_handlers.append(prepare)
    return prepare


def prepare_erasure(account_id: UUID) -> None:
    """Complete what erasures depend on, in short transactions. Call it outside of `acting`.

    After an upgrade this may take long, and an erasure holds locks until its transaction ends.
    """
    for prepare in _prepare_handlers:
        prepare(account_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonalDataHandlers:
    """Functions of an app that count and erase data stored under people's ids (`user_id`)."""

    count: Callable[[UUID, Collection[str]], int]
    erase: Callable[[UUID, Collection[str], Recording], None]


_registered: list[PersonalDataHandlers] = []


def register_personal_data(handlers: PersonalDataHandlers) -> None:
    _registered.append(handlers)


def count_personal_data(account_id: UUID, people: Collection[str]) -> int:
    """Return the number of rows that all apps store under these ids. Inside `acting`."""
    return sum(app.count(account_id, people) for app in _registered) if people else 0


def erase_personal_data(account_id: UUID, people: Collection[str], commit: Recording) -> None:
    """Erase what all apps store under these ids, in this commit. Inside `acting`."""
    for app in _registered if people else ():
        app.erase(account_id, people, commit)
