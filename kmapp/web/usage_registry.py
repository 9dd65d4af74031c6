"""Registry of where an object was used, so that its page can list the uses.

The app that records uses registers a function; the page of the object calls it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageEntry:
    """One use of an object, with the URL of its page."""

    at: datetime
    by: str  # display name of the user of the object; may be empty
    url: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The latest uses, newest first, with the URL of the full list."""

    latest: Sequence[UsageEntry] = ()
    url: str = ""
    more: bool = False  # whether there are more than the latest


# Arguments: the account, the object's id and the limit. Called inside `acting`.
LoadUsage = Callable[[UUID, UUID, int], Usage]
_loaders: list[LoadUsage] = []


def register_usage(load: LoadUsage) -> LoadUsage:
    _loaders.append(load)
    return load


def find_usage(account_id: UUID, pk: UUID, *, limit: int) -> Usage:
    """Return the uses of an object. Inside `acting`."""
    for load in _loaders:
        if (usage := load(account_id, pk, limit)).latest:
            return usage
    return Usage()
