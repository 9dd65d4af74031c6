"""Limits of requests as JSON Schema, equal to what the strict parser accepts."""

from typing import Any

from drf_spectacular.drainage import has_override
from drf_spectacular.plumbing import ComponentRegistry, ResolvedComponent
from rest_framework import serializers

from kmapp.api.serializers import Aliases, Exact, OneOrMore, Typed
from kmapp.ledger.canonical import MAX_INTEGER

Schema = dict[str, Any]

STORABLE = r"^[^\u0000]*$"
NOT_BLANK = r"^[^\u0000]*[^\s\u0000][^\u0000]*$"
BOUNDS = {"minimum": -MAX_INTEGER, "maximum": MAX_INTEGER}
WORDS = ("description", "default", "title", "deprecated")  # of a property of any type
JSON = {"$ref": "#/components/schemas/JSON"}
ANYTHING: Schema = {
    "description": "Any JSON that can be stored: texts without U+0000, numbers within ±(2^53 - 1).",
    "anyOf": [
        {"type": "null"},
        {"type": "boolean"},
        {"type": "number", **BOUNDS},
        {"type": "string", "pattern": STORABLE},
        {"type": "array", "items": JSON},
        {"type": "object", "propertyNames": {"pattern": STORABLE}, "additionalProperties": JSON},
    ],
}


def limit_schema(serializer: Any, name: str, schema: Schema, registry: ComponentRegistry) -> Schema:
    field = serializer.fields[name]
    schema = _limit_field(field, schema, registry)
    if isinstance(field, Typed) and field.shorthand:
        schema = {"anyOf": [schema, {"type": "string", "pattern": NOT_BLANK}]}
    ignores_null = isinstance(serializer, Aliases) and not field.required
    return _allow_null(schema, may_be=field.allow_null or ignores_null)


def unknown_fields_schema(serializer: Any, registry: ComponentRegistry) -> Schema:
    """Return the schema of unknown fields: storable values, or none where they are refused."""
    if isinstance(serializer, Exact):
        return {"additionalProperties": False}
    return {
        "propertyNames": {"pattern": STORABLE},
        "additionalProperties": _build_any_schema(registry),
    }


def _limit_field(field: Any, schema: Schema, registry: ComponentRegistry) -> Schema:
    if has_override(field, "field"):
        return _limit_values(schema, registry)
    return _add_storable_limits(field, schema, registry)


def _add_storable_limits(field: Any, schema: Schema, registry: ComponentRegistry) -> Schema:
    if isinstance(field, serializers.JSONField):
        anything = _build_any_schema(registry)
        return anything if field.allow_null else {"anyOf": ANYTHING["anyOf"][1:]}
    if isinstance(field, serializers.ListField) and "items" in schema:
        return _build_list_schema(
            field, schema, _limit_field(field.child, schema["items"], registry)
        )
    if isinstance(field, serializers.DictField) and "additionalProperties" in schema:
        inner = schema["additionalProperties"]
        inner = _limit_field(field.child, inner, registry) if inner else _build_any_schema(registry)
        names = {"pattern": STORABLE}
        return {**schema, "propertyNames": names, "additionalProperties": inner}
    if isinstance(field, serializers.IntegerField | serializers.FloatField):
        return {**BOUNDS, **schema}
    if isinstance(field, serializers.CharField) and not {"pattern", "format"} & schema.keys():
        trims = field.trim_whitespace and not field.allow_blank
        return {**schema, "pattern": NOT_BLANK if trims else STORABLE}
    return schema


def _limit_values(schema: Schema, registry: ComponentRegistry) -> Schema:
    """Return a schema that is written by hand with the limits of each of its values."""
    limited: Schema = {
        kind: [_limit_values(each, registry) for each in schema[kind]]
        for kind in ("oneOf", "anyOf")
        if kind in schema
    }
    if schema.get("type") == "string" and not {"pattern", "format", "enum"} & schema.keys():
        limited["pattern"] = STORABLE
    elif schema.get("type") == "array":
        limited["items"] = _limit_values(schema["items"], registry)
    elif schema.get("type") == "object":
        limited["properties"] = {
            name: _limit_values(each, registry)
            for name, each in schema.get("properties", {}).items()
        }
        limited |= {
            "propertyNames": {"pattern": STORABLE},
            "additionalProperties": _build_any_schema(registry),
        }
    return {**schema, **limited}


def _build_list_schema(field: Any, schema: Schema, item: Schema) -> Schema:
    min_items = {} if field.allow_empty else {"minItems": 1}
    if not isinstance(field, OneOrMore):
        return {**min_items, **schema, "items": item}
    words = {name: schema[name] for name in WORDS if name in schema}
    inner = {name: value for name, value in schema.items() if name not in WORDS}
    return {**words, "anyOf": [{**min_items, **inner, "type": "array", "items": item}, item]}


def _build_any_schema(registry: ComponentRegistry) -> Schema:
    component = ResolvedComponent(  # type: ignore[no-untyped-call]
        "JSON", ResolvedComponent.SCHEMA, schema=ANYTHING, object="JSON"
    )
    registry.register_on_missing(component)
    return dict(JSON)


def _allow_null(schema: Schema, *, may_be: bool) -> Schema:
    """Return the schema with null allowed; `anyOf` keeps formats with their type."""
    if not may_be:
        return schema
    if "enum" in schema:
        types = schema.get("type", "string")
        both = types if isinstance(types, list) else [types, "null"]
        return {
            **schema,
            "type": both,
            "enum": [*(each for each in schema["enum"] if each is not None), None],
        }
    words = {name: schema[name] for name in WORDS if name in schema}
    inner = {name: value for name, value in schema.items() if name not in WORDS}
    if "anyOf" in inner or "oneOf" in inner:
        (kind,) = {"anyOf", "oneOf"} & inner.keys()
        options = [each for each in inner[kind] if each != {"type": "null"}]
        return {**words, kind: [*options, {"type": "null"}]}
    if isinstance(inner.get("type"), list):
        (inner["type"],) = [each for each in inner["type"] if each != "null"]
    return {**words, "anyOf": [inner, {"type": "null"}]}
