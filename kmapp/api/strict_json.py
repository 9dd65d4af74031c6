"""Strict JSON parsing: values that the database cannot store are refused. Pure.

Python's json module accepts NaN, 1e999, duplicate keys, lone surrogates and integers of any size,
and raises RecursionError on deep nesting. Every error here has a path, such as nodes.3.slots. Each
step is linear in the size of the body.
"""

import json
import math
import re
from dataclasses import dataclass
from typing import Any

from kmapp.ledger.canonical import MAX_INTEGER, Trail, find_unstorable_character, format_path

# Strings are skipped whole, closed or not: with the closing quote required, an open string would be
# scanned again from each quote in it. Possessive, so nothing is tried twice.
_STRUCTURE = re.compile(r'"(?:[^"\\]++|\\.)*+"?|[\[{\]},]', re.DOTALL)
_DIGITS = len(str(MAX_INTEGER))


class RefusedJSON(ValueError):
    """The body is not acceptable; `path` is the place, "" for the whole body.

    `code` and `params` let callers phrase the reason in their own words.
    """

    def __init__(self, path: str, reason: str, code: str, **params: Any) -> None:
        super().__init__(f"{path}: {reason}" if path else reason)
        self.path = path
        self.reason = reason
        self.code = code
        self.params = params


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of the structure of a body; its size in bytes is limited elsewhere."""

    depth: int = 64
    items: int = 100_000  # values and containers, all levels together


LIMITS = Limits()


@dataclass(frozen=True, slots=True)
class _InvalidValue:
    """Marker of an invalid value until its path is known."""

    reason: str
    code: str
    key: str = ""


_TOO_LARGE = _InvalidValue(f"is a number beyond ±{MAX_INTEGER}", "number")


def parse(body: bytes, limits: Limits = LIMITS) -> dict[str, Any]:
    """Return the object in `body`, or raise RefusedJSON."""
    try:
        text = body.decode()
    except UnicodeDecodeError as error:
        raise RefusedJSON("", f"is not UTF-8 (byte {error.start})", "character") from None
    _check_structure(text, limits)
    try:
        value = json.loads(
            text,
            object_pairs_hook=_build_object,
            parse_int=_parse_integer,
            parse_float=_parse_float,
            parse_constant=lambda word: _InvalidValue(f"is {word}, which is not JSON", "word"),
        )
    except json.JSONDecodeError as error:
        line, column = error.lineno, error.colno
        reason = f"is not JSON: {error.msg} (line {line}, column {column})"
        raise RefusedJSON("", reason, "syntax", line=line, column=column) from None
    _check_values(value, None)
    if not isinstance(value, dict):
        raise RefusedJSON("", "must be a JSON object", "object")
    return value


def _check_structure(text: str, limits: Limits) -> None:
    """Refuse deep or large structure before it is parsed."""
    depth = items = 0
    for token in _STRUCTURE.finditer(text):
        mark = token[0]
        if mark in "[{":
            depth += 1
            if depth > limits.depth:
                reason = f"is nested deeper than {limits.depth} levels"
                raise RefusedJSON("", reason, "deep", most=limits.depth)
        elif mark in "]}":
            depth -= 1
        if mark in "[{,":
            items += 1
            if items > limits.items:
                reason = f"has more than {limits.items} items"
                raise RefusedJSON("", reason, "crowded", most=limits.items)


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | _InvalidValue:
    value = dict(pairs)
    if len(value) == len(pairs):
        return value
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            visible_key = key[:100].encode(errors="replace").decode()  # it may hold lone surrogates
            return _InvalidValue(f"has the key {key[:100]!a} twice", "twice", visible_key)
        seen.add(key)
    raise AssertionError("unreachable: fewer keys than pairs")


def _parse_integer(text: str) -> int | _InvalidValue:
    # The length first: int() of a long string is slow, and refused by Python past 4,300 digits.
    if len(text.lstrip("-")) > _DIGITS or abs(int(text)) > MAX_INTEGER:
        return _TOO_LARGE
    return int(text)


def _parse_float(text: str) -> float | _InvalidValue:
    number = float(text)
    if not math.isfinite(number) or abs(number) > MAX_INTEGER:
        return _TOO_LARGE
    return number


def _check_values(value: Any, trail: Trail) -> None:
    """Refuse invalid values and text, keys included, with their path."""
    if isinstance(value, dict):
        for key, item in value.items():
            _check_values(key, trail)
            _check_values(item, (trail, key))
    elif isinstance(value, list):
        for place, item in enumerate(value):
            _check_values(item, (trail, place))
    elif isinstance(value, _InvalidValue):
        raise RefusedJSON(format_path(trail), value.reason, value.code, key=value.key)
    elif isinstance(value, str) and (reason := find_unstorable_character(value)):
        raise RefusedJSON(format_path(trail), reason, "character")
