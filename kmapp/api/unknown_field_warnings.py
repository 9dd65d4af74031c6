"""Fields of a request that its endpoint does not know.

They are ignored, because clients of newer versions and of other products send fields of their own.
The response names them, so that a misspelt field does not go unnoticed.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rest_framework import serializers
from rest_framework.request import Request

from kmapp.api.serializers import ANYWHERE, Typed, describe_unknown, list_accepted_names
from kmapp.api.similar_names import find_nearest
from kmapp.errors import Invalid

STRICT_HEADER = "X-KM-Strict"
MAX_WARNINGS = 20
LISTS = (serializers.ListSerializer, serializers.ListField)


def find_warnings(serializer: serializers.Serializer[Any], data: Any) -> list[dict[str, Any]]:
    """Return a warning for each unknown field, up to MAX_WARNINGS."""
    warnings = []
    for path, name, accepted in _unknown_fields(serializer, data, ()):
        nearest = find_nearest(name, accepted)
        hint = f" Did you mean {nearest}?" if nearest else ""
        warnings.append(
            {
                "code": "unknown_field",
                "path": ".".join((*path, name)),
                "nearest": nearest,
                "message": f"This endpoint does not know {name[:100]}; it was ignored.{hint}",
            }
        )
        if len(warnings) == MAX_WARNINGS:
            break
    return warnings


def check_unknown_fields(request: Request, warnings: Sequence[Mapping[str, Any]]) -> None:
    """Raise Invalid if there are warnings and the request or its key asks for strict checks."""
    by_header = request.headers.get(STRICT_HEADER, "").lower() in ("1", "true")
    if warnings and (by_header or getattr(request.auth, "is_strict", False)):
        issues = [
            {"path": warning["path"], "message": describe_unknown(warning["nearest"])}
            for warning in warnings
        ]
        raise Invalid(f"Unknown field {issues[0]['path']}.", code="unknown_field", issues=issues)


def _unknown_fields(
    serializer: serializers.Serializer[Any], data: Any, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], str, set[str]]]:
    """Yield path, name and the known names of each field that a serializer does not know."""
    if not isinstance(data, Mapping):
        return
    accepted = list_accepted_names(serializer)
    other = serializer.find_other_reader(data) if isinstance(serializer, Typed) else None
    if other is not None:  # it ignores what only the first one knows
        serializer, accepted = other, accepted | list_accepted_names(other)
    aliases = getattr(serializer, "aliases", {})
    for name, value in data.items():
        if name not in accepted:
            if name not in ANYWHERE:
                yield path, str(name), set(serializer.fields)
            continue
        field = serializer.fields.get(name) or serializer.fields.get(aliases.get(name, ""))
        if field is not None:
            yield from _unknown_below(field, value, (*path, name))


def _unknown_below(
    field: Any, value: Any, path: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], str, set[str]]]:
    if isinstance(field, serializers.Serializer):
        yield from _unknown_fields(field, value, path)
    elif isinstance(field, LISTS) and isinstance(value, list):
        for number, item in enumerate(value):
            yield from _unknown_below(field.child, item, (*path, str(number)))
