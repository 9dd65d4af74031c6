"""Registry of the changes that webhooks report. Apps register a source for each kind of object."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils.functional import Promise

Load = Callable[[UUID, Sequence[UUID]], Mapping[UUID, "ReportedChange"]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedChange:
    """One change of an object, for a receiver. `data` is JSON."""

    event_type: str  # "memory.added"
    created_at: datetime
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSource:
    """Objects of an app. `load` returns the changes by reference, for an account, inside `acting`.

    A reference without a change worth reporting, or to something erased, is left out.
    """

    name: str
    event_types: Mapping[str, str | Promise]  # name and label
    load: Load


_sources: dict[str, ChangeSource] = {}


def register_source(source: ChangeSource) -> None:
    _sources[source.name] = source


def get_source(name: str) -> ChangeSource:
    return _sources[name]


def list_event_types() -> dict[str, str | Promise]:
    """Return the names and labels of all event types."""
    return {name: label for each in _sources.values() for name, label in each.event_types.items()}
