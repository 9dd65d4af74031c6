"""Tool schemas in the strict form that providers enforce. Pure.

Every object is closed and every property required (an optional one accepts null), `oneOf` becomes
`anyOf`, and a `$ref` is replaced by its target. What has no strict form, such as a map with free
keys, is kept and the tool is reported as not strict.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Schema = dict[str, Any]
MAX_DEPTH = 24  # levels of references
MAX_NODES = 20_000  # nodes of one schema, because references can multiply them


@dataclass(frozen=True, slots=True, kw_only=True)
class StrictSchema:
    """A schema in strict form as far as possible, with the obstacles."""

    schema: Schema
    strict: bool
    obstacles: tuple[str, ...]  # parts without a strict form


_DEFINITIONS = ("$defs", "definitions")
_UNSUPPORTED = frozenset({"not", "if", "patternProperties", "dependentSchemas"})
_DROPPED = ("$schema", "$id", "$comment")


def normalise_schema(schema: Mapping[str, Any]) -> StrictSchema:
    conversion = _Conversion(schema)
    result = conversion.convert(schema, ())
    if result.get("type") != "object":
        conversion.obstacles["the input is not an object"] = None
    if "$ref" not in str(result):
        result = {name: value for name, value in result.items() if name not in _DEFINITIONS}
    return StrictSchema(
        schema=result,
        strict=not conversion.obstacles,
        obstacles=tuple(conversion.obstacles),
    )


class _Conversion:
    """The conversion of one schema. `seen` are the references on the way to a node."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        self.obstacles: dict[str, None] = {}  # an ordered set
        self.nodes = 0

    def convert(self, schema: Any, seen: tuple[str, ...]) -> Schema:
        if not isinstance(schema, Mapping):
            self.obstacles["a schema that is not an object"] = None
            return {}
        self.nodes += 1
        if self.nodes > MAX_NODES or len(seen) > MAX_DEPTH:
            self.obstacles["references that do not end"] = None
            return {}
        if isinstance(schema.get("$ref"), str):
            return self._resolve_reference(schema, seen)
        result = {name: value for name, value in schema.items() if name not in _DROPPED}
        self._convert_one_of(result)
        result = self._merge_all_of(result, seen)
        if isinstance(result.get("anyOf"), list):
            result["anyOf"] = [self.convert(item, seen) for item in result["anyOf"]]
        if "items" in result:
            result["items"] = self.convert(result["items"], seen)
        if _is_object(result):
            self._close_object(result, seen)
        self.obstacles |= dict.fromkeys(_UNSUPPORTED & result.keys())
        return result

    def _resolve_reference(self, schema: Mapping[str, Any], seen: tuple[str, ...]) -> Schema:
        """Return the target of a reference, overlaid with the reference's own keywords."""
        name = str(schema["$ref"])
        target = self._find_target(name)
        if target is None or name in seen:
            obstacle = "$ref that leads nowhere" if target is None else "$ref to itself"
            self.obstacles[obstacle] = None
            return dict(schema)
        return self.convert(_overlay(target, schema), (*seen, name))

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

    def _merge_all_of(self, schema: Schema, seen: tuple[str, ...]) -> Schema:
        """Merge the parts of one object; other combinations have no strict form."""
        parts = schema.get("allOf")
        if not isinstance(parts, list):
            return schema
        resolved = [self._resolve_part(part, seen) for part in parts]
        if len(resolved) > 1 and not all(map(_is_object, resolved)):
            self.obstacles["allOf"] = None
            return schema
        merged: Schema = {}
        own = {name: value for name, value in schema.items() if name != "allOf"}
        for part in (*resolved, own):
            for name, value in part.items():
                if name == "properties" and isinstance(value, Mapping):
                    merged["properties"] = {**merged.get("properties", {}), **value}
                elif name == "required" and isinstance(value, list):
                    merged["required"] = list(dict.fromkeys([*merged.get("required", []), *value]))
                else:
                    merged[name] = value
        return merged

    def _resolve_part(self, part: Any, seen: tuple[str, ...]) -> Schema:
        for _ in range(MAX_DEPTH):
            if not isinstance(part, Mapping) or not isinstance(part.get("$ref"), str):
                break
            target = self._find_target(part["$ref"])
            if target is None or part["$ref"] in seen:
                break
            part = _overlay(target, part)
        return dict(part) if isinstance(part, Mapping) else {}

    def _close_object(self, schema: Schema, seen: tuple[str, ...]) -> None:
        additional, properties = schema.get("additionalProperties"), schema.get("properties")
        if not isinstance(properties, Mapping):
            properties = {}
        if additional not in (None, False) and (additional is not True or not properties):
            self.obstacles["a map with free keys"] = None
            if isinstance(additional, Mapping):
                schema["additionalProperties"] = self.convert(additional, seen)
        else:
            schema["additionalProperties"] = False
        required = schema.get("required")
        needed = set(required) if isinstance(required, list) else set()
        schema["type"] = schema.get("type", "object")
        converted = {name: self.convert(value, seen) for name, value in properties.items()}
        schema["properties"] = {
            name: value if name in needed else _allow_null(value)
            for name, value in converted.items()
        }
        schema["required"] = list(properties)


def _overlay(target: Mapping[str, Any], reference: Mapping[str, Any]) -> Schema:
    return {**target, **{key: value for key, value in reference.items() if key != "$ref"}}


def _is_object(part: Schema) -> bool:
    return part.get("type") == "object" or "properties" in part


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
