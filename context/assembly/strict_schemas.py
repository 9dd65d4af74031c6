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
    changes: tuple[str, ...]  # kinds of change, without repetition
    obstacles: tuple[str, ...]  # parts without a strict form


class _Conversion:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        self.changes: dict[str, None] = {}
        self.obstacles: dict[str, None] = {}
        self.nodes = 0

    def record_change(self, change: str) -> None:
        self.changes[change] = None

    def record_obstacle(self, obstacle: str) -> None:
        self.obstacles[obstacle] = None

    def may_descend(self, seen: tuple[str, ...]) -> bool:
        """Return whether to go deeper; False when references do not end."""
        self.nodes += 1
        if self.nodes <= MAX_NODES and len(seen) <= MAX_DEPTH:
            return True
        self.record_obstacle("references that do not end")
        return False


def normalise_schema(schema: Mapping[str, Any]) -> StrictSchema:
    """Return the strict form of a tool's input schema. Idempotent."""
    conversion = _Conversion(schema)
    result = _convert_node(schema, conversion, ())
    if result.get("type") != "object":
        conversion.record_obstacle("the input is not an object")
    stripped = (
        result
        if "$ref" in str(result)
        else {k: v for k, v in result.items() if k not in _DEFINITIONS}
    )
    return StrictSchema(
        schema=stripped,
        strict=not conversion.obstacles,
        changes=tuple(conversion.changes),
        obstacles=tuple(conversion.obstacles),
    )


_DEFINITIONS = ("$defs", "definitions")
_UNSUPPORTED = frozenset({"not", "if", "patternProperties", "dependentSchemas"})
_DROPPED = ("$schema", "$id", "$comment")


def _convert_node(schema: Any, conversion: _Conversion, seen: tuple[str, ...]) -> Schema:
    if not isinstance(schema, Mapping):
        conversion.record_obstacle("a schema that is not an object")
        return {}
    if not conversion.may_descend(seen):
        return {}
    if isinstance(schema.get("$ref"), str):
        return _resolve_reference(schema, conversion, seen)
    result = {name: value for name, value in schema.items() if name not in _DROPPED}
    _convert_one_of(result, conversion)
    result = _merge_all_of(result, conversion, seen)
    if isinstance(result.get("anyOf"), list):
        result["anyOf"] = [_convert_node(item, conversion, seen) for item in result["anyOf"]]
    if "items" in result:
        result["items"] = _convert_node(result["items"], conversion, seen)
    if result.get("type") == "object" or "properties" in result:
        _close_object(result, conversion, seen)
    for name in _UNSUPPORTED & result.keys():
        conversion.record_obstacle(name)
    return result


def _resolve_reference(
    schema: Mapping[str, Any], conversion: _Conversion, seen: tuple[str, ...]
) -> Schema:
    """Return the target of a reference, overlaid with the reference's own keywords."""
    name = str(schema["$ref"])
    target = _find_target(conversion.root, name)
    if target is None or name in seen:
        conversion.record_obstacle(
            "$ref that leads nowhere" if target is None else "$ref to itself"
        )
        return dict(schema)
    conversion.record_change("$ref")
    siblings = {key: value for key, value in schema.items() if key != "$ref"}
    return _convert_node({**target, **siblings}, conversion, (*seen, name))


def _find_target(root: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    if not name.startswith("#/"):
        return None
    node: Any = root
    for step in name[2:].split("/"):
        if not isinstance(node, Mapping):
            return None
        node = node.get(step.replace("~1", "/").replace("~0", "~"))
    return node if isinstance(node, Mapping) else None


def _convert_one_of(schema: Schema, conversion: _Conversion) -> None:
    if isinstance(schema.get("oneOf"), list) and "anyOf" not in schema:
        schema["anyOf"] = schema.pop("oneOf")
        conversion.record_change("oneOf")
    elif "oneOf" in schema:
        conversion.record_obstacle("oneOf next to anyOf")


def _merge_all_of(schema: Schema, conversion: _Conversion, seen: tuple[str, ...]) -> Schema:
    """Merge the parts of one object; other combinations have no strict form."""
    parts = schema.get("allOf")
    if not isinstance(parts, list):
        return schema
    resolved = [_resolve_part(part, conversion, seen) for part in parts]
    own = {name: value for name, value in schema.items() if name != "allOf"}
    if len(resolved) > 1 and any(not _is_object(part) for part in resolved):
        conversion.record_obstacle("allOf")
        return schema
    conversion.record_change("allOf")
    merged: Schema = {}
    for part in (*resolved, own):
        for name, value in part.items():
            if name == "properties" and isinstance(value, Mapping):
                merged["properties"] = {**merged.get("properties", {}), **value}
            elif name == "required" and isinstance(value, list):
                merged["required"] = list(dict.fromkeys([*merged.get("required", []), *value]))
            else:
                merged[name] = value
    return merged


def _resolve_part(part: Any, conversion: _Conversion, seen: tuple[str, ...]) -> Schema:
    for _ in range(MAX_DEPTH):
        if not isinstance(part, Mapping) or not isinstance(part.get("$ref"), str):
            break
        target = _find_target(conversion.root, part["$ref"])
        if target is None or part["$ref"] in seen:
            break
        part = {**target, **{key: value for key, value in part.items() if key != "$ref"}}
    return dict(part) if isinstance(part, Mapping) else {}


def _is_object(part: Schema) -> bool:
    return part.get("type") == "object" or "properties" in part


def _close_object(schema: Schema, conversion: _Conversion, seen: tuple[str, ...]) -> None:
    additional = schema.get("additionalProperties")
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        properties = {}
    if additional not in (None, False) and (additional is not True or not properties):
        conversion.record_obstacle("a map with free keys")
        if isinstance(additional, Mapping):
            schema["additionalProperties"] = _convert_node(additional, conversion, seen)
    elif additional is not False:
        schema["additionalProperties"] = False
        conversion.record_change("additionalProperties")
    required = schema.get("required")
    needed = set(required) if isinstance(required, list) else set()
    schema["type"] = schema.get("type", "object")
    schema["properties"] = {
        name: _convert_property(value, conversion, seen, needed=name in needed)
        for name, value in properties.items()
    }
    if list(properties) != required:
        schema["required"] = list(properties)
        if needed != set(properties):
            conversion.record_change("required")


def _convert_property(
    value: Any, conversion: _Conversion, seen: tuple[str, ...], *, needed: bool
) -> Schema:
    result = _convert_node(value, conversion, seen)
    if needed or _accepts_null(result):
        return result
    kind = result.get("type")
    if isinstance(kind, str | list) and "enum" not in result and "const" not in result:
        return {**result, "type": [*([kind] if isinstance(kind, str) else kind), "null"]}
    if isinstance(result.get("anyOf"), list):
        return {**result, "anyOf": [*result["anyOf"], {"type": "null"}]}
    described = {name: result.pop(name) for name in ("description",) if name in result}
    return {**described, "anyOf": [result, {"type": "null"}]}


def _accepts_null(schema: Schema) -> bool:
    kind, any_of = schema.get("type"), schema.get("anyOf")
    if kind == "null" or (isinstance(kind, list) and "null" in kind):
        return True
    return isinstance(any_of, list) and any(
        isinstance(item, Mapping) and _accepts_null(dict(item)) for item in any_of
    )
