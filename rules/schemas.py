"""What a rule may say, as JSON Schemas, and what is wrong with one that says something else. Pure.

The API publishes these very schemas; editors can complete and check against them.
"""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from rules.conditions import LONGEST_PATTERN, OPERATORS, safe_pattern

DRAFT = "https://json-schema.org/draft/2020-12/schema"
MOST_ITEMS = 200
MOST_KEYS = 100
LONGEST_NAME = 200
LONGEST = 400  # characters of a complaint
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
        "description": "Places of the context and what must stand there; all of it must hold.",
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
    "description": "Conditions of which none may hold.",
    "type": "array",
    "maxItems": MOST_EXCEPTIONS,
    "items": {"allOf": [{"$ref": "#/$defs/condition"}], "minProperties": 1},
    "$defs": _DEFS,
}
THEN: dict[str, Any] = {
    "$schema": DRAFT,
    "title": "then",
    "description": "What applies while the rule holds.",
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
PUBLISHED = {"rule": RULE, "if": IF, "then": THEN, "exceptions": EXCEPTIONS}

Issue = dict[str, str]


@cache
def _validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(PUBLISHED[name])


def issues_of(rule: Mapping[str, Any]) -> list[Issue]:
    """What is wrong with a rule's `if`, `then` and `exceptions`, place by place."""
    return [
        issue for name in ("if", "then", "exceptions") for issue in part_issues(name, rule[name])
    ]


def part_issues(name: str, value: Any) -> list[Issue]:
    found = [_issue(name, error) for error in _validator(name).iter_errors(value)]
    if not found and name != "then":
        found = [
            {"path": path, "message": "cannot be matched in linear time: it would never match"}
            for path, pattern in _patterns(value, name)
            if safe_pattern(pattern) is None
        ]
    return found


def _issue(name: str, error: ValidationError) -> Issue:
    path = ".".join([name, *map(str, error.absolute_path)])
    message = error.message
    if error.validator == "additionalProperties":
        known = ", ".join(sorted(error.schema.get("properties", {})))
        message = f"unknown here: {', '.join(sorted(_unknown(error)))}; known are {known}"
    return {
        "path": path,
        "message": message if len(message) <= LONGEST else f"{message[:LONGEST]}…",
    }


def _unknown(error: ValidationError) -> set[str]:
    known = error.schema.get("properties", {}).keys()
    names = {str(key) for key in error.instance if key not in known}
    return {key for key in names if key.startswith("$")} or names


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
