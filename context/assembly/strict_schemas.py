"""Tool schemas in the strict form that providers can hold a model to. Pure.

As far as it goes: every object is closed and every property required (an optional one may be
null), `oneOf` is `anyOf`, a `$ref` is what it refers to. What has no strict form, such as a map
with free keys, stays as it is, and the tool is said not to be strict.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Schema = dict[str, Any]
DEEPEST = 24  # levels to which references are followed
LARGEST = 20_000  # nodes of one schema: references may multiply


@dataclass(frozen=True, slots=True, kw_only=True)
class Strict:
    """A schema made strict, or as strict as it can be, and why not."""

    schema: Schema
    strict: bool
    changes: tuple[str, ...]  # what was done, once each
    obstacles: tuple[str, ...]  # what has no strict form


class _Work:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        self.changes: dict[str, None] = {}
        self.obstacles: dict[str, None] = {}
        self.nodes = 0

    def did(self, change: str) -> None:
        self.changes[change] = None

    def cannot(self, obstacle: str) -> None:
        self.obstacles[obstacle] = None

    def goes_on(self, seen: tuple[str, ...]) -> bool:
        """Whether there is no end of references in sight."""
        self.nodes += 1
        if self.nodes <= LARGEST and len(seen) <= DEEPEST:
            return True
        self.cannot("references that do not end")
        return False


def normalised(schema: Mapping[str, Any]) -> Strict:
    """The schema of a tool's input. Doing it twice changes nothing."""
    work = _Work(schema)
    made = _node(schema, work, ())
    if made.get("type") != "object":
        work.cannot("the input is not an object")
    left = made if "$ref" in str(made) else {k: v for k, v in made.items() if k not in _DEFINITIONS}
    return Strict(
        schema=left,
        strict=not work.obstacles,
        changes=tuple(work.changes),
        obstacles=tuple(work.obstacles),
    )


_DEFINITIONS = ("$defs", "definitions")
_WITHOUT_STRICT_FORM = frozenset({"not", "if", "patternProperties", "dependentSchemas"})
_DROPPED = ("$schema", "$id", "$comment")


def _node(schema: Any, work: _Work, seen: tuple[str, ...]) -> Schema:
    if not isinstance(schema, Mapping):
        work.cannot("a schema that is not an object")
        return {}
    if not work.goes_on(seen):
        return {}
    if isinstance(schema.get("$ref"), str):
        return _reference(schema, work, seen)
    made = {name: value for name, value in schema.items() if name not in _DROPPED}
    _one_of(made, work)
    made = _all_of(made, work, seen)
    if isinstance(made.get("anyOf"), list):
        made["anyOf"] = [_node(each, work, seen) for each in made["anyOf"]]
    if "items" in made:
        made["items"] = _node(made["items"], work, seen)
    if made.get("type") == "object" or "properties" in made:
        _object(made, work, seen)
    for name in _WITHOUT_STRICT_FORM & made.keys():
        work.cannot(name)
    return made


def _reference(schema: Mapping[str, Any], work: _Work, seen: tuple[str, ...]) -> Schema:
    """What it refers to, with what is said beside it on top."""
    name = str(schema["$ref"])
    target = _found(work.root, name)
    if target is None or name in seen:
        work.cannot("$ref that leads nowhere" if target is None else "$ref to itself")
        return dict(schema)
    work.did("$ref")
    beside = {key: value for key, value in schema.items() if key != "$ref"}
    return _node({**target, **beside}, work, (*seen, name))


def _found(root: Mapping[str, Any], name: str) -> Mapping[str, Any] | None:
    if not name.startswith("#/"):
        return None
    here: Any = root
    for step in name[2:].split("/"):
        if not isinstance(here, Mapping):
            return None
        here = here.get(step.replace("~1", "/").replace("~0", "~"))
    return here if isinstance(here, Mapping) else None


def _one_of(made: Schema, work: _Work) -> None:
    if isinstance(made.get("oneOf"), list) and "anyOf" not in made:
        made["anyOf"] = made.pop("oneOf")
        work.did("oneOf")
    elif "oneOf" in made:
        work.cannot("oneOf beside anyOf")


def _all_of(made: Schema, work: _Work, seen: tuple[str, ...]) -> Schema:
    """Parts of one object become one object; other sums have no strict form."""
    parts = made.get("allOf")
    if not isinstance(parts, list):
        return made
    resolved = [_resolved(part, work, seen) for part in parts]
    alone = {name: value for name, value in made.items() if name != "allOf"}
    if len(resolved) > 1 and any(not _is_object(part) for part in resolved):
        work.cannot("allOf")
        return made
    work.did("allOf")
    merged: Schema = {}
    for part in (*resolved, alone):
        for name, value in part.items():
            if name == "properties" and isinstance(value, Mapping):
                merged["properties"] = {**merged.get("properties", {}), **value}
            elif name == "required" and isinstance(value, list):
                merged["required"] = list(dict.fromkeys([*merged.get("required", []), *value]))
            else:
                merged[name] = value
    return merged


def _resolved(part: Any, work: _Work, seen: tuple[str, ...]) -> Schema:
    for _ in range(DEEPEST):
        if not isinstance(part, Mapping) or not isinstance(part.get("$ref"), str):
            break
        target = _found(work.root, part["$ref"])
        if target is None or part["$ref"] in seen:
            break
        part = {**target, **{key: value for key, value in part.items() if key != "$ref"}}
    return dict(part) if isinstance(part, Mapping) else {}


def _is_object(part: Schema) -> bool:
    return part.get("type") == "object" or "properties" in part


def _object(made: Schema, work: _Work, seen: tuple[str, ...]) -> None:
    free = made.get("additionalProperties")
    properties = made.get("properties")
    if not isinstance(properties, Mapping):
        properties = {}
    if free not in (None, False) and (free is not True or not properties):
        work.cannot("a map with free keys")
        if isinstance(free, Mapping):
            made["additionalProperties"] = _node(free, work, seen)
    elif free is not False:
        made["additionalProperties"] = False
        work.did("additionalProperties")
    required = made.get("required")
    needed = set(required) if isinstance(required, list) else set()
    made["type"] = made.get("type", "object")
    made["properties"] = {
        name: _property(value, work, seen, needed=name in needed)
        for name, value in properties.items()
    }
    if list(properties) != required:
        made["required"] = list(properties)
        if needed != set(properties):
            work.did("required")


def _property(value: Any, work: _Work, seen: tuple[str, ...], *, needed: bool) -> Schema:
    made = _node(value, work, seen)
    if needed or _may_be_null(made):
        return made
    kind = made.get("type")
    if isinstance(kind, str | list) and "enum" not in made and "const" not in made:
        return {**made, "type": [*([kind] if isinstance(kind, str) else kind), "null"]}
    if isinstance(made.get("anyOf"), list):
        return {**made, "anyOf": [*made["anyOf"], {"type": "null"}]}
    described = {name: made.pop(name) for name in ("description",) if name in made}
    return {**described, "anyOf": [made, {"type": "null"}]}


def _may_be_null(schema: Schema) -> bool:
    kind, any_of = schema.get("type"), schema.get("anyOf")
    if kind == "null" or (isinstance(kind, list) and "null" in kind):
        return True
    return isinstance(any_of, list) and any(
        isinstance(each, Mapping) and _may_be_null(dict(each)) for each in any_of
    )
