"""JSON Schema of filters: the fields and operators that `memory.retrieval.filters` reads."""

from typing import Any

from kmapp.api.request_limits import BOUNDS, STORABLE
from memory.retrieval.filters import ANYTHING, FIELDS, LISTS, LONGEST, VALUES, operators_of

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string", "maxLength": LONGEST, "pattern": STORABLE}
_VALUES: dict[str, Schema] = {
    "text": _TEXT,
    "list": _TEXT,
    "number": {"type": "number", **BOUNDS},
    "flag": {"type": "boolean"},
    "time": {"type": "string", "description": "A date or a time."},
    "id": {"type": "string", "format": "uuid"},
}
_GROUP: Schema = {"type": "object", "description": "Another filter."}
_GROUPS: Schema = {"type": "array", "items": _GROUP, "minItems": 1}


def _field(kind: str) -> Schema:
    if kind == "json":
        return {"type": "object", "description": "Conditions on the metadata, by key."}
    value = _VALUES[kind]
    several = {"type": "array", "items": value, "maxItems": VALUES}
    operators = operators_of(kind)
    properties = {name: several if name == "in" else value for name in sorted(operators)}
    for name in {"eq", "ne"} & operators:
        properties[name] = {"anyOf": [value, {"const": ANYTHING}, {"type": "null"}]}
    whole = {"type": "object", "properties": properties, "minProperties": 1}
    options = [value, {"const": ANYTHING}, {"type": "null"}]
    options += [several] if "in" in operators else []
    return {"anyOf": [*options, whole]}


def filter_schema() -> Schema:
    """Return the schema of a filter. Nested filters have the same one."""
    fields = {name: _field(field.kind) for name, field in FIELDS.items()}
    groups = {name: {"anyOf": [_GROUPS, _GROUP]} if name == "NOT" else _GROUPS for name in LISTS}
    names = {"enum": [*fields, *groups]}
    return {"type": "object", "properties": fields | groups, "propertyNames": names}
