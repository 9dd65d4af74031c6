"""JSON Schemas of rules and their violations. Pure.

The API publishes these very schemas; editors can complete and check against them.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sized
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from rules.evaluation.conditions import OPERATORS
from rules.evaluation.patterns import MAX_PATTERN_LENGTH, is_supported
from rules.evaluation.time_limit import check_time

DRAFT = "https://json-schema.org/draft/2020-12/schema"
MAX_ITEMS = 200
MAX_KEYS = 100
MAX_NAME_LENGTH = 200
MAX_NAMES_LENGTH = 300  # characters of the names in a message
MAX_PART_LENGTH = 20_000  # characters of one part as JSON
MAX_EXCEPTIONS = 20

_ANY_LIST = {"type": "array", "maxItems": MAX_ITEMS}
_VALUE = {"$ref": "#/$defs/value"}
_CONDITIONS = {"type": "array", "minItems": 1, "maxItems": MAX_ITEMS, "items": _VALUE}
_ORDERED = {"type": ["number", "string"]}
_OPERANDS: dict[str, Any] = {
    "$and": _CONDITIONS,
    "$or": _CONDITIONS,
    "$not": _VALUE,
    "$eq": True,
    "$ne": True,
    "$in": _ANY_LIST,
    "$nin": _ANY_LIST,
    **dict.fromkeys(("$gt", "$gte", "$lt", "$lte"), _ORDERED),
    "$contains": True,
    "$exists": {"type": "boolean"},
    "$regex": {"type": "string", "maxLength": MAX_PATTERN_LENGTH},
}
assert set(_OPERANDS) == set(OPERATORS)  # noqa: S101 - the schema and the code name the same

_DEFS = {
    "condition": {
        "description": "Paths in the context with their required values; all must match.",
        "type": "object",
        "maxProperties": MAX_KEYS,
        "properties": _OPERANDS,
        "patternProperties": {"^[^$]": _VALUE},
        "additionalProperties": False,
    },
    "value": {
        "if": {"type": "object"},
        "then": {"$ref": "#/$defs/condition"},
        "else": {"if": {"type": "array"}, "then": {"maxItems": MAX_ITEMS, "items": _VALUE}},
    },
}
_NAMES = {
    "type": "array",
    "maxItems": MAX_ITEMS,
    "items": {"type": "string", "minLength": 1, "maxLength": MAX_NAME_LENGTH},
    "uniqueItems": True,
}

_CONDITION = {"$ref": "#/$defs/condition"}
IF: dict[str, Any] = {"$schema": DRAFT, "title": "if", **_CONDITION, "$defs": _DEFS}
EXCEPTIONS: dict[str, Any] = {
    "$schema": DRAFT,
    "title": "exceptions",
    "description": "Conditions that must not match.",
    "type": "array",
    "maxItems": MAX_EXCEPTIONS,
    "items": {"allOf": [_CONDITION], "minProperties": 1},
    "$defs": _DEFS,
}
THEN: dict[str, Any] = {
    "$schema": DRAFT,
    "title": "then",
    "description": "Effect while the rule matches.",
    "type": "object",
    "minProperties": 1,
    "properties": {
        "output": {
            "type": "object",
            "properties": {
                "format": {"enum": ["json", "text", "markdown"]},
                "strict": {"type": "boolean"},
            },
            "additionalProperties": False,
        },
        "tool": {
            "type": "object",
            "properties": {"allow": _NAMES, "deny": _NAMES, "prefer": _NAMES},
            "additionalProperties": False,
        },
        "extensions": {"type": "object", "maxProperties": MAX_KEYS},
    },
    "additionalProperties": False,
}
RULE: dict[str, Any] = {
    "$schema": DRAFT,
    "title": "rule",
    "type": "object",
    "required": ["if", "then"],
    "properties": {
        "if": _CONDITION,
        **{
            name: {key: part[key] for key in part if key not in ("$schema", "$defs")}
            for name, part in (("then", THEN), ("exceptions", EXCEPTIONS))
        },
        "priority": {"type": "integer", "minimum": -100, "maximum": 100, "default": 0},
        "weight": {"type": "number", "minimum": 0, "maximum": 2, "default": 1},
    },
    "additionalProperties": False,
    "$defs": _DEFS,
}
PARTS = ("if", "then", "exceptions")
SCHEMAS = {"rule": RULE, "if": IF, "then": THEN, "exceptions": EXCEPTIONS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """A violation at one path; `params` are the names and numbers in its message."""

    path: str
    code: str
    params: Mapping[str, Any] = field(default_factory=dict)


@cache
def _get_validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(SCHEMAS[name])


def list_violations(name: str, value: Any) -> list[Violation]:
    """Return the violations of one part of a rule. A part that is too large has only that one.

    Raise TooSlow after the time limit.
    """
    check_time()
    if too_long := list_size_violations(name, value):
        return too_long
    violations = [
        _build_violation(name, error) for error in _get_validator(name).iter_errors(value)
    ]
    if violations or name == "then":
        return violations
    patterns = _list_patterns(value, name)
    return [Violation(path=path, code="pattern") for path, one in patterns if not is_supported(one)]


def list_size_violations(name: str, value: Any) -> list[Violation]:
    size = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    params = {"n": size, "most": MAX_PART_LENGTH}
    return [Violation(path=name, code="large", params=params)] if size > MAX_PART_LENGTH else []


def _build_violation(name: str, error: ValidationError) -> Violation:
    path = ".".join([name, *map(str, error.absolute_path)])
    code, constraint = str(error.validator), error.validator_value
    if code == "additionalProperties":
        return Violation(path=path, code="unknown", params=_list_unknown_names(error))
    if code == "type":
        kinds = [constraint] if isinstance(constraint, str) else constraint
        return Violation(path=path, code="-or-".join(kinds))
    if code == "enum":
        return Violation(path=path, code=code, params={"known": ", ".join(constraint)})
    n = len(error.instance) if isinstance(error.instance, Sized) else 0
    return Violation(path=path, code=code, params={"n": n, "most": constraint})


def _list_unknown_names(error: ValidationError) -> dict[str, str]:
    """Return unknown properties, with the operators that are allowed there."""
    allowed = error.schema.get("properties", {})
    names = {str(key) for key in error.instance if key not in allowed}
    names = {key for key in names if key.startswith("$")} or names
    return {"unknown": _join_names(names), "known": _join_names(allowed)}


def _join_names(names: Iterable[str]) -> str:
    text = ", ".join(sorted(names))
    return text if len(text) <= MAX_NAMES_LENGTH else f"{text[:MAX_NAMES_LENGTH]}…"


def _list_patterns(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key == "$regex":
                yield f"{path}.{key}", inner
            elif key not in ("$eq", "$ne", "$in", "$nin", "$contains"):
                yield from _list_patterns(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            yield from _list_patterns(inner, f"{path}.{position}")
