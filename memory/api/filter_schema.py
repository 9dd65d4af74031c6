"""JSON Schema of filters: the fields and operators of `memory.retrieval.filter_expressions`."""

from typing import Any

from drf_spectacular.extensions import OpenApiSerializerFieldExtension
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent

from kmapp.api.json_schema_limits import BOUNDS, STORABLE
from memory.retrieval.filter_expressions import (
    ANY_VALUE,
    FILTER_FIELDS,
    LOGICAL_OPERATORS,
    MAX_VALUE_LENGTH,
    MAX_VALUES,
    OPERATORS_BY_KIND,
)

Schema = dict[str, Any]

_TEXT: Schema = {"type": "string", "maxLength": MAX_VALUE_LENGTH, "pattern": STORABLE}
_VALUES: dict[str, Schema] = {
    "text": _TEXT,
    "list": _TEXT,
    "number": {"type": "number", **BOUNDS},
    "flag": {"type": "boolean"},
    "time": {"type": "string", "description": "A date or a time."},
    "id": {"type": "string", "format": "uuid"},
}
_GROUP: Schema = {"$ref": "#/components/schemas/Filters"}
_GROUPS: Schema = {"type": "array", "items": _GROUP, "minItems": 1}


def _build_field_schema(kind: str) -> Schema:
    if kind == "json":
        return {"type": "object", "description": "Conditions on the metadata, by key."}
    value = _VALUES[kind]
    several = {"type": "array", "items": value, "maxItems": MAX_VALUES}
    operators = OPERATORS_BY_KIND[kind]
    properties = {name: several if name == "in" else value for name in sorted(operators)}
    for name in {"eq", "ne"} & operators:
        properties[name] = {"anyOf": [value, {"const": ANY_VALUE}, {"type": "null"}]}
    whole = {"type": "object", "properties": properties, "minProperties": 1}
    options = [value, {"const": ANY_VALUE}, {"type": "null"}]
    options += [several] if "in" in operators else []
    return {"anyOf": [*options, whole]}


def build_filter_schema() -> Schema:
    fields = {name: _build_field_schema(field.kind) for name, field in FILTER_FIELDS.items()}
    groups = {
        name: {"anyOf": [_GROUPS, _GROUP]} if name == "NOT" else _GROUPS
        for name in LOGICAL_OPERATORS
    }
    names = {"enum": [*fields, *groups]}
    return {"type": "object", "properties": fields | groups, "propertyNames": names}


class FiltersExtension(OpenApiSerializerFieldExtension):  # type: ignore[no-untyped-call]
    """The schema of a filter, which nested filters have too, as a component."""

    target_class = "memory.api.shared_request_serializers.FiltersField"

    def map_serializer_field(self, auto_schema: AutoSchema, direction: Any) -> Schema:
        """Register the component, and return a reference to it."""
        component = ResolvedComponent(  # type: ignore[no-untyped-call]
            "Filters", ResolvedComponent.SCHEMA, schema=build_filter_schema(), object="Filters"
        )
        auto_schema.registry.register_on_missing(component)
        return dict(component.ref)
