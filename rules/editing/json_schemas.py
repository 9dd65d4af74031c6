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
LONGEST = 300  # characters of the names in a message
LARGEST = 20_000  # characters of one part as JSON
MOST_EXCEPTIONS = 20

_ANY_LIST = {"type": "array", "maxItems": MOST_ITEMS}
_VALUE = {"$ref": "#/$defs/value"}
_CONDITIONS = {"type": "array", "minItems": 1, "maxItems": MOST_ITEMS, "items": _VALUE}
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
    "$regex": {"type": "string", "maxLength": LONGEST_PATTERN},
}
assert set(_OPERANDS) == set(OPERATORS)  # noqa: S101 - the schema and the code name the same

_DEFS = {
    "condition": {
        "description": "Paths in the context with their required values; all must match.",
        "type": "object",
        "maxProperties": MOST_KEYS,
        "properties": _OPERANDS,
        "patternProperties": {"^[^$]": _VALUE},
        "additionalProperties": False,
    },
    "value": {
        "if": {"type": "object"},
        "then": {"$ref": "#/$defs/condition"},
        "else": {"if": {"type": "array"}, "then": {"maxItems": MOST_ITEMS, "items": _VALUE}},
    },
}
_NAMES = {
    "type": "array",
    "maxItems": MOST_ITEMS,
    "items": {"type": "string", "minLength": 1, "maxLength": LONGEST_NAME},
    "uniqueItems": True,
}

_CONDITION = {"$ref": "#/$defs/condition"}
IF: dict[str, Any] = {"$schema": DRAFT, "title": "if", **_CONDITION, "$defs": _DEFS}
EXCEPTIONS: dict[str, Any] = {
    "$schema": DRAFT,
    "title": "exceptions",
    "description": "Conditions that must not match.",
    "type": "array",
    "maxItems": MOST_EXCEPTIONS,
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
PUBLISHED = {"rule": RULE, "if": IF, "then": THEN, "exceptions": EXCEPTIONS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """A violation at one path; `params` are the names and numbers in its message."""

    path: str
    code: str
    params: Mapping[str, Any] = field(default_factory=dict)


@cache
def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(PUBLISHED[name])


def flaws_of(name: str, value: Any) -> list[Flaw]:
    """Return the violations of one part of a rule. A part that is too large has only that one."""
    if large := too_large(name, value):
        return large
    flaws = [_flaw(name, error) for error in _validator(name).iter_errors(value)]
    if flaws or name == "then":
        return flaws
    patterns = _patterns(value, name)
    return [Flaw(path=path, code="pattern") for path, one in patterns if safe_pattern(one) is None]


def too_large(name: str, value: Any) -> list[Flaw]:
    size = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    params = {"n": size, "most": LARGEST}
    return [Flaw(path=name, code="large", params=params)] if size > LARGEST else []


def _flaw(name: str, error: ValidationError) -> Flaw:
    path = ".".join([name, *map(str, error.absolute_path)])
    code, constraint = str(error.validator), error.validator_value
    if code == "additionalProperties":
        return Flaw(path=path, code="unknown", params=_unknown(error))
    if code == "type":
        kinds = [constraint] if isinstance(constraint, str) else constraint
        return Flaw(path=path, code="-or-".join(kinds))
    if code == "enum":
        return Flaw(path=path, code=code, params={"known": ", ".join(constraint)})
    n = len(error.instance) if isinstance(error.instance, Sized) else 0
    return Flaw(path=path, code=code, params={"n": n, "most": constraint})


def _unknown(error: ValidationError) -> dict[str, str]:
    """Return unknown properties, with the operators that are allowed there."""
    allowed = error.schema.get("properties", {})
    names = {str(key) for key in error.instance if key not in allowed}
    names = {key for key in names if key.startswith("$")} or names
    return {"unknown": _join_names(names), "known": _join_names(allowed)}


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
