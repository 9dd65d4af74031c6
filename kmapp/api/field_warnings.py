"""Fields of a request that are ignored: those that its endpoint does not know, and empty user IDs.

Unknown ones are ignored, because clients of newer versions and of other products send fields of
their own. The response names them, so that a misspelt field does not go unnoticed. It names an
empty user ID because the memory is then for the whole account.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from rest_framework import serializers
from rest_framework.request import Request

from kmapp.api.serializers import ANYWHERE, Typed, describe_unknown, list_accepted_names
from kmapp.api.similar_names import find_nearest
from kmapp.errors import Invalid

STRICT_HEADER = "X-KM-Strict"
MAX_WARNINGS = 20
UNKNOWN_FIELD, EMPTY_ID = "unknown_field", "empty_id"  # codes
USER_ID = "user_id"
LISTS = (serializers.ListSerializer, serializers.ListField)


class IgnoredField(NamedTuple):
    path: tuple[str, ...]  # of the object that has the field
    name: str
    accepted: set[str] | None  # the fields of this object; None for an empty ID

    def describe(self) -> dict[str, Any]:
        """Return the warning."""
        code, path = UNKNOWN_FIELD, ".".join((*self.path, self.name))
        if self.accepted is None:
            code, nearest = EMPTY_ID, None
            message = f"{self.name} is empty; it was ignored, as if this were about no user."
        else:
            nearest = find_nearest(self.name, self.accepted)
            hint = f" Did you mean {nearest}?" if nearest else ""
            message = f"This endpoint does not know {self.name[:100]}; it was ignored.{hint}"
        return {"code": code, "path": path, "nearest": nearest, "message": message}


def find_warnings(serializer: serializers.Serializer[Any], data: Any) -> list[dict[str, Any]]:
    """Return a warning for each ignored field, up to MAX_WARNINGS."""
    ignored = islice(_list_ignored(serializer, data, ()), MAX_WARNINGS)
    return [each.describe() for each in ignored]


def check_ignored_fields(request: Request, warnings: Sequence[Mapping[str, Any]]) -> None:
    """Raise Invalid if there are warnings and the request or its key asks for strict checks."""
    by_header = request.headers.get(STRICT_HEADER, "").lower() in ("1", "true")
    if warnings and (by_header or getattr(request.auth, "is_strict", False)):
        issues = [
            {
                "path": warning["path"],
                "message": "Empty. Send the ID, or omit the field."
                if warning["code"] == EMPTY_ID
                else describe_unknown(warning["nearest"]),
            }
            for warning in warnings
        ]
        problem = "Empty" if warnings[0]["code"] == EMPTY_ID else "Unknown"
        raise Invalid(
            f"{problem} field {issues[0]['path']}.", code=warnings[0]["code"], issues=issues
        )


def _list_ignored(
    serializer: serializers.Serializer[Any], data: Any, path: tuple[str, ...]
) -> Iterator[IgnoredField]:
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
                yield IgnoredField(path, str(name), set(serializer.fields))
            continue
        if aliases.get(name, name) == USER_ID and isinstance(value, str) and not value.strip():
            yield IgnoredField(path, name, None)
        field = serializer.fields.get(name) or serializer.fields.get(aliases.get(name, ""))
        if field is not None:
            yield from _list_ignored_below(field, value, (*path, name))


def _list_ignored_below(field: Any, value: Any, path: tuple[str, ...]) -> Iterator[IgnoredField]:
    if isinstance(field, serializers.Serializer):
        yield from _list_ignored(field, value, path)
    elif isinstance(field, LISTS) and isinstance(value, list):
        for number, item in enumerate(value):
            yield from _list_ignored_below(field.child, item, (*path, str(number)))
