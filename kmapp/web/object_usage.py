"""Registry of the places where an object was used.

The app that records usage registers a function; the page of the object calls it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

if TYPE_CHECKING:
    from django.utils.functional import _StrOrPromise as StrOrPromise


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageEntry:
    """One use of an object, with the URL of its page."""

    at: datetime
    by: str  # display name of the user of the object; may be empty
    url: str
    title: str = ""  # of the user; if empty, the page shows the time


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectUsage:
    """The latest uses of one kind, newest first, with the URL of the full list."""

    label: "StrOrPromise"
    latest: Sequence[UsageEntry] = ()
    url: str = ""
    more: bool = False  # whether there are more than the latest


# Called inside `acting`, with the account, the object's id and the limit.
LoadUsage = Callable[[UUID, UUID, int], ObjectUsage]
LoadParts = Callable[[UUID, UUID], Sequence[UUID]]
_usage_loaders: list[LoadUsage] = []
_part_loaders: list[LoadParts] = []


def register_usage(load: LoadUsage) -> LoadUsage:
    _usage_loaders.append(load)
    return load


def register_parts(load: LoadParts) -> LoadParts:
    """Register a function that returns the parts of an object; their uses are uses of it."""
    _part_loaders.append(load)
    return load


def list_usages(account_id: UUID, pk: UUID, *, limit: int) -> list[ObjectUsage]:
    """Return the uses of an object, by kind. Inside `acting`."""
    usages = [load(account_id, pk, limit) for load in _usage_loaders]
    return [usage for usage in usages if usage.latest]


def list_object_parts(account_id: UUID, pk: UUID) -> list[UUID]:
    """Return the ids of an object and of its parts. Inside `acting`."""
    return [pk, *(part for load in _part_loaders for part in load(account_id, pk))]
