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

from rules.evaluation.conditions import LONGEST_PATTERN, OPERATORS, safe_pattern

DRAFT = "https://json-schema.org/draft/2020-12/schema"
MOST_ITEMS = 200
MOST_KEYS = 100
LONGEST_NAME = 200
LONGEST = 300  # characters of the names in a complaint
LARGEST = 20_000  # characters of one part as JSON
MOST_EXCEPTIONS = 20

_ANY_LIST = {"type": "array", "maxItems": MOST_ITEMS}
_CONDITIONS = {
    "type": "array",
    "minItems": 1,
    "maxItems": MOST_ITEMS,
    "items": {"$ref": "#/$defs/value"},
}
_OPERANDS: dict[str, Any] = {
    "$and": _CONDITIONS,
    "$or": _CONDITIONS,
    "$not": {"$ref": "#/$defs/value"},
    "$eq": True,
    "$ne": True,
    "$in": _ANY_LIST,
    "$nin": _ANY_LIST,
    "$gt": {"type": ["number", "string"]},
    "$gte": {"type": ["number", "string"]},
    "$lt": {"type": ["number", "string"]},
    "$lte": {"type": ["number", "string"]},
    "$contains": True,
    "$exists": {"type": "boolean"},
    "$regex": {"type": "string", "maxLength": LONGEST_PATTERN},
}
assert set(_OPERANDS) == set(OPERATORS)  # noqa: S101 - the schema and the code name the same

_DEFS = {
    "condition": {
        "description": "Paths in the context with their required values; all must match.",
        "type": "object",
        "maxProperties": MOST_KEYS,
        "properties": _OPERANDS,
        "patternProperties": {"^[^$]": {"$ref": "#/$defs/value"}},
        "additionalProperties": False,
    },
    "value": {
        "if": {"type": "object"},
        "then": {"$ref": "#/$defs/condition"},
        "else": {
            "if": {"type": "array"},
            "then": {"maxItems": MOST_ITEMS, "items": {"$ref": "#/$defs/value"}},
        },
    },
}
_NAMES = {
    "type": "array",
    "maxItems": MOST_ITEMS,
    "items": {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME},
    "uniqueItems": True,
}

IF: dict[str, Any] = {
    "$schema": DRAFT,
    "title": "if",
    "$ref": "#/$defs/condition",
    "$defs": _DEFS,
}
EXCEPTIONS: dict[str, Any] = {
    "$schema": DRAFT,
    "title": "exceptions",
    "description": "Conditions that must not match.",
    "type": "array",
    "maxItems": MOST_EXCEPTIONS,
    "items": {"allOf": [{"$ref": "#/$defs/condition"}], "minProperties": 1},
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
        "extensions": {"type": "object", "maxProperties": MOST_KEYS},
    },
    "additionalProperties": False,
}
RULE: dict[str, Any] = {
    "$schema": DRAFT,
    "title": "rule",
    "type": "object",
    "required": ["if", "then"],
    "properties": {
        "if": {"$ref": "#/$defs/condition"},
        "then": {name: value for name, value in THEN.items() if name != "$schema"},
        "exceptions": {
            name: value for name, value in EXCEPTIONS.items() if name not in ("$schema", "$defs")
        },
        "priority": {"type": "integer", "minimum": -100, "maximum": 100, "default": 0},
        "weight": {"type": "number", "minimum": 0, "maximum": 2, "default": 1},
    },
    "additionalProperties": False,
    "$defs": _DEFS,
}
PARTS = ("if", "then", "exceptions")
PUBLISHED = {"rule": RULE, "if": IF, "then": THEN, "exceptions": EXCEPTIONS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """What is wrong at one place: `code` says what, `given` the names and numbers of it."""

    path: str
    code: str
    params: Mapping[str, Any] = field(default_factory=dict)


@cache
def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(PUBLISHED[name])


def flaws_of(name: str, value: Any) -> list[Flaw]:
    """Of one part of a rule, place by place. What is too large is not looked into."""
    if large := too_large(name, value):
        return large
    flaws = [_flaw(name, error) for error in _validator(name).iter_errors(value)]
    if not flaws and name != "then":
        flaws = [
            Flaw(path=path, code="pattern")
            for path, pattern in _patterns(value, name)
            if safe_pattern(pattern) is None
        ]
    return flaws


def too_large(name: str, value: Any) -> list[Flaw]:
    size = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    params = {"n": size, "most": LARGEST}
    return [Flaw(path=name, code="large", params=params)] if size > LARGEST else []


def _flaw(name: str, error: ValidationError) -> Flaw:
    path = ".".join([name, *map(str, error.absolute_path)])
    code, constraint = str(error.validator), error.validator_value
    if code == "additionalProperties":
        allowed_properties = error.schema.get("properties", {})
        return Flaw(path=path, code="unknown", params=_unknown(error, allowed_properties))
    if code == "type":
        kinds = [constraint] if isinstance(constraint, str) else constraint
        return Flaw(path=path, code="-or-".join(kinds))
    if code == "enum":
        return Flaw(path=path, code=code, params={"known": ", ".join(constraint)})
    n = len(error.instance) if isinstance(error.instance, Sized) else 0
    return Flaw(path=path, code=code, params={"n": n, "most": constraint})


def _unknown(error: ValidationError, allowed_properties: Mapping[str, Any]) -> dict[str, str]:
    """Return unknown properties, with the operators that are allowed there."""
    names = {str(key) for key in error.instance if key not in allowed_properties}
    names = {key for key in names if key.startswith("$")} or names
    return {"unknown": _join_names(names), "known": _join_names(allowed_properties)}


def _join_names(names: Iterable[str]) -> str:
    text = ", ".join(sorted(names))
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}…"


def _patterns(value: Any, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key == "$regex":
                yield f"{path}.{key}", inner
            elif key not in ("$eq", "$ne", "$in", "$nin", "$contains"):
                yield from _patterns(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _patterns(inner, f"{path}.{place}")
