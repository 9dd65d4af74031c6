"""Endpoints of mem0 that delete the memories of an owner."""

import ast
from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest

from interop.field_validation import field_error
from interop.mem0.memories import build_no_owner_error
from interop.protocol_view import ProtocolView
from kmapp.errors import Invalid
from memory.models.entries import OWNER_IDS
from memory.retrieval.filter_expressions import ANY_VALUE

MAX_FILTER_LENGTH = 4_000  # characters of a filter in the query
WITHOUT_EFFECT = ("org_id", "project_id", "source")  # that clients send with a selection


class DeleteMemories(ProtocolView):
    """Delete all memories of an owner, named in the query of the URL."""

    def delete(self, request: HttpRequest) -> Any:
        query = _read_query(request)
        owner = {name: query[name] for name in OWNER_IDS if name in query}
        if "filters" in query:
            owner |= _parse_filters(query["filters"])
        if not owner:
            raise build_no_owner_error()
        named = {name: value for name, value in owner.items() if value != ANY_VALUE}
        wildcards = {name: ANY_VALUE for name in owner if name not in named}
        return _delete(self, {**named, **({"filters": wildcards} if wildcards else {})})


class DeleteEntity(ProtocolView):
    """Delete all memories of a user, agent, app or run."""

    def delete(self, request: HttpRequest, kind: str, name: str) -> Any:
        if f"{kind}_id" not in OWNER_IDS:
            raise Invalid(
                "The type of an entity is user, agent, app or run.",
                issues=[{"path": "type", "message": "is not user, agent, app or run"}],
            )
        return _delete(self, {f"{kind}_id": name})


def _delete(view: ProtocolView, owner: Mapping[str, Any]) -> dict[str, Any]:
    forgotten = view.forget_owned(owner)
    message = (
        "Memories deleted successfully!" if forgotten["count"] else "No memories found to delete."
    )
    return {"message": message, **forgotten}


def _read_query(request: HttpRequest) -> dict[str, str]:
    """Return the parameters. Refuse those that may be meant to select fewer memories."""
    query = {name: str(value) for name, value in request.GET.items()}
    for name, value in query.items():
        if name not in (*OWNER_IDS, "filters", *WITHOUT_EFFECT):
            raise field_error(name[:100], f"is not one of {', '.join(OWNER_IDS)}, filters")
        if name in OWNER_IDS and not value.strip():
            raise field_error(name, "must not be empty")
    return query


def _parse_filters(text: str) -> dict[str, str]:
    """Parse `{'user_id': 'x'}`: clients send the representation of a Python dictionary."""
    value: Any = None
    if len(text) <= MAX_FILTER_LENGTH:
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
            value = None
    is_plain = isinstance(value, Mapping) and all(
        name in OWNER_IDS and isinstance(each, str) and each.strip() for name, each in value.items()
    )
    if not is_plain:
        raise Invalid(
            "filters may name a user_id, agent_id, app_id or run_id, each by equality.",
            issues=[{"path": "filters", "message": "is not an object of ids"}],
        )
    return dict(value)
