"""Request serializers of memory.

The field names text, kind, metadata and run_id have aliases for other clients.
"""

from collections.abc import Mapping
from typing import Any

from rest_framework import serializers

from kmapp.api.serializers import Aliases, IdField, OneOrMore
from memory.models import MemoryEntry, Viewer
from memory.models.entries import OWNER_IDS
from memory.retrieval.filter_expressions import extract_owner_ids
from memory.retrieval.search import DEFAULT_LIMIT

MAX_TEXT_LENGTH = 50_000  # characters of one memory
MAX_QUERY_LENGTH = 4_000


class Share(serializers.FloatField):
    """A number from 0 to 1."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(min_value=0, max_value=1, **kwargs)


def provided_values(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that are not null."""
    return {name: value for name, value in data.items() if value is not None}


class OwnerIds(Aliases):
    """The owner of memories, below the account."""

    user_id = IdField()
    agent_id = IdField()
    app_id = IdField()
    run_id = IdField()
    scope = IdField()


class FiltersField(serializers.DictField):
    """Filter conditions, read by `memory.retrieval.filter_expressions`."""

    def __init__(self) -> None:
        super().__init__(
            required=False,
            help_text=(
                "Conditions on fields, with AND, OR and NOT. If user_id, agent_id, app_id "
                "and run_id "
                "are all omitted, equality conditions on them, at the top level or in a top-level "
                "AND, select the owner."
            ),
        )


class OwnerAndKinds(OwnerIds):
    """An owner and kinds of memories."""

    aliases = {**OwnerIds.aliases, "kind": "kinds", "type": "kinds", "types": "kinds"}

    kinds = OneOrMore(
        child=serializers.ChoiceField(choices=MemoryEntry.Kind.choices), required=False
    )


class EntryFilters(OwnerAndKinds):
    """Filters of a search."""

    tags = OneOrMore(child=serializers.CharField(max_length=100), required=False)
    observed_after = serializers.DateTimeField(required=False)
    observed_before = serializers.DateTimeField(required=False)
    filters = FiltersField()


class QueryFilters(EntryFilters):
    """Filters of a search, and its time."""

    as_of = serializers.DateTimeField(
        required=False, allow_null=True, help_text="Search the state at this time."
    )
    explain = serializers.BooleanField(
        default=False, help_text="The parts that add up to each score."
    )


class SearchInput(QueryFilters):
    """A search."""

    query = serializers.CharField(max_length=MAX_QUERY_LENGTH)
    limit = serializers.IntegerField(min_value=1, max_value=200, default=DEFAULT_LIMIT)
    min_score = Share(default=0.0)


def select_owner_filters(data: Mapping[str, Any]) -> dict[str, str]:
    """Return the owner IDs of a request, or those that its filter requires."""
    named = {name: data[name] for name in OWNER_IDS if data.get(name)}
    return named or extract_owner_ids(data.get("filters") or {})


def build_viewer(data: Mapping[str, Any]) -> Viewer:
    return Viewer(**select_owner_filters(data), scope=data.get("scope") or None)
