"""Tool schemas in the strict form that providers enforce. Pure.

Every object is closed and every property required (an optional one accepts null), `oneOf` becomes
`anyOf`, and a `$ref` is replaced by its target. What has no strict form, such as a map with free
keys, is kept and the tool is reported as not strict.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

Schema = dict[str, Any]
MAX_REFERENCES = 24  # on the way to a node
MAX_DEPTH = 64  # levels of a schema, with those that references add; recursion has limits
MAX_NODES = 20_000  # nodes of one schema, because references can multiply them
MAX_COPIED = 200_000  # characters of the targets that replace the references of one schema


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictSchema:
    """A schema in strict form as far as possible, with the obstacles."""

    schema: Schema
    strict: bool
    obstacles: tuple[str, ...]  # parts without a strict form


_DEFINITIONS = ("$defs", "definitions")
_UNSUPPORTED = frozenset(
    {"not", "if", "patternProperties", "propertyNames", "unevaluatedProperties"}
    | {"dependentSchemas", "dependentRequired", "prefixItems", "unevaluatedItems", "contains"}
)
_DROPPED = ("$schema", "$id", "$comment")


def normalise_schema(schema: Mapping[str, Any]) -> StrictSchema:
    conversion = _Conversion(schema)
    result = conversion.convert(schema, _Place())
    if result.get("type") != "object":
        conversion.obstacles["the input is not an object"] = None
    body = {name: value for name, value in result.items() if name not in _DEFINITIONS}
    if not conversion.obstacles or "$ref" not in str(body):
        result = body
    return StrictSchema(
        schema=result, strict=not conversion.obstacles, obstacles=tuple(conversion.obstacles)
    )


@dataclass(frozen=True, slots=True)
class _Place:
    """The references on the way to a node, and its level."""

    seen: tuple[str, ...] = ()
    level: int = 0

    @property
    def below(self) -> "_Place":
        return replace(self, level=self.level + 1)

    def through(self, reference: str) -> "_Place":
        return replace(self, seen=(*self.seen, reference))


class _Conversion:
    """The conversion of one schema."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        self.obstacles: dict[str, None] = {}  # an ordered set
        self.nodes = 0
        self.copied = 0
        self.lengths: dict[str, int] = {}  # of targets

    def convert(self, schema: Any, place: _Place) -> Schema:
        if not isinstance(schema, Mapping):
            self.obstacles["a schema that is not an object"] = None
            return {}
        if self._is_too_large(place):
            return {}
        if isinstance(schema.get("$ref"), str):
            target = self._resolve_reference(schema, place)
            if target is None:
                return dict(schema)
            return self.convert(target, place.through(schema["$ref"]))
        result = {name: value for name, value in schema.items() if name not in _DROPPED}
        self._convert_one_of(result)
        result = self._merge_all_of(result, place)
        if isinstance(result.get("anyOf"), list):
            result["anyOf"] = [self.convert(item, place.below) for item in result["anyOf"]]
        if "items" in result:
            result["items"] = self.convert(result["items"], place.below)
        if _is_object(result):
            self._close_object(result, place.below)
        self.obstacles |= dict.fromkeys(sorted(_UNSUPPORTED & result.keys()))
        return result

    def _is_too_large(self, place: _Place) -> bool:
        """Count a node. Return whether references make the schema too large."""
        self.nodes += 1
        if (
            self.nodes <= MAX_NODES
            and len(place.seen) <= MAX_REFERENCES
            and place.level <= MAX_DEPTH
        ):
            return False
        self.obstacles["references that do not end"] = None
        return True

    def _resolve_reference(self, schema: Mapping[str, Any], place: _Place) -> Schema | None:
        """Return the target of a reference, overlaid with the reference's own keywords."""
        name = str(schema["$ref"])
        target = self._find_target(name)
        if target is None or name in place.seen:
            obstacle = "$ref that leads nowhere" if target is None else "$ref to itself"
            self.obstacles[obstacle] = None
            return None
        return _overlay(target, schema) if self._count_copy(name, target) else {}

    def _count_copy(self, name: str, target: Mapping[str, Any]) -> bool:
        """Return whether one more reference may be replaced by its target."""
        if name not in self.lengths:
            self.lengths[name] = len(json.dumps(target))
        self.copied += self.lengths[name]
        if self.copied > MAX_COPIED:
            self.obstacles["references that do not end"] = None
        return self.copied <= MAX_COPIED

    def _find_target(self, name: str) -> Mapping[str, Any] | None:
        if not name.startswith("#/"):
            return None
        node: Any = self.root
        for step in name[2:].split("/"):
            if not isinstance(node, Mapping):
                return None
            node = node.get(step.replace("~1", "/").replace("~0", "~"))
        return node if isinstance(node, Mapping) else None

    def _convert_one_of(self, schema: Schema) -> None:
        if isinstance(schema.get("oneOf"), list) and "anyOf" not in schema:
            schema["anyOf"] = schema.pop("oneOf")
        elif "oneOf" in schema:
            self.obstacles["oneOf next to anyOf"] = None

    def _merge_all_of(self, schema: Schema, place: _Place) -> Schema:
        """Merge the parts of one object; other combinations have no strict form."""
        parts = schema.get("allOf")
        if not isinstance(parts, list):
            return schema
        resolved = [self._resolve_part(part, place.below) for part in parts]
        if len(resolved) > 1 and not all(map(_is_object, resolved)):
            self.obstacles["allOf"] = None
            return schema
        merged: Schema = {}
        properties: Schema = {}
        required: dict[str, None] = {}
        own = {name: value for name, value in schema.items() if name != "allOf"}
        for part in (*resolved, own):
            if "anyOf" in merged and "anyOf" in part:
                self.obstacles["allOf"] = None
            properties |= _get_properties(part)
            required |= dict.fromkeys(_list_required(part))
            merged |= part
        if "properties" in merged:
            merged["properties"] = properties
        if "required" in merged:
            merged["required"] = list(required)
        return merged

    def _resolve_part(self, part: Any, place: _Place) -> Schema:
        """Return a part of an allOf without references, oneOf and allOf of its own."""
        if not isinstance(part, Mapping) or self._is_too_large(place):
            return {}
        if isinstance(part.get("$ref"), str):
            target = self._resolve_reference(part, place)
            if target is None:
                return dict(part)
            return self._resolve_part(target, place.through(part["$ref"]))
        result = dict(part)
        self._convert_one_of(result)
        return self._merge_all_of(result, place)

    def _close_object(self, schema: Schema, inside: _Place) -> None:
        additional, properties = schema.get("additionalProperties"), _get_properties(schema)
        if additional not in (None, False) and (additional is not True or not properties):
            self.obstacles["a map with free keys"] = None
            if isinstance(additional, Mapping):
                schema["additionalProperties"] = self.convert(additional, inside)
        else:
            schema["additionalProperties"] = False
        needed = set(_list_required(schema))
        schema["type"] = schema.get("type", "object")
        converted = {name: self.convert(value, inside) for name, value in properties.items()}
        schema["properties"] = {
            name: value if name in needed else _allow_null(value)
            for name, value in converted.items()
        }
        schema["required"] = list(properties)


def _get_properties(schema: Schema) -> Mapping[str, Any]:
    properties = schema.get("properties")
    return properties if isinstance(properties, Mapping) else {}


def _list_required(schema: Schema) -> list[str]:
    names = schema.get("required")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def _overlay(target: Mapping[str, Any], reference: Mapping[str, Any]) -> Schema:
    return {**target, **{key: value for key, value in reference.items() if key != "$ref"}}


def _is_object(part: Schema) -> bool:
    kind = part.get("type")
    return kind == "object" or (isinstance(kind, list) and "object" in kind) or "properties" in part


def _allow_null(schema: Schema) -> Schema:
    if _accepts_null(schema):
        return schema
    kind = schema.get("type")
    if isinstance(kind, str | list) and "enum" not in schema and "const" not in schema:
        return {**schema, "type": [*([kind] if isinstance(kind, str) else kind), "null"]}
    if isinstance(schema.get("anyOf"), list):
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    described = {name: schema.pop(name) for name in ("description",) if name in schema}
    return {**described, "anyOf": [schema, {"type": "null"}]}


def _accepts_null(schema: Schema) -> bool:
    kind, any_of = schema.get("type"), schema.get("anyOf")
    if kind == "null" or (isinstance(kind, list) and "null" in kind):
        return True
    return isinstance(any_of, list) and any(
        isinstance(item, Mapping) and _accepts_null(dict(item)) for item in any_of
    )
