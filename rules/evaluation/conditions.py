"""Conditions of rules, compiled once and matched against many contexts. Pure.

A condition is an object. Its keys are paths in the context, with dots for nested ones; its values
are scalars (equal), objects (a condition on the value there, or operators) or lists (whose items
must all be in the context's list). Types never convert: 1 is not true and not "1".
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import re2

LONGEST_PATTERN = 256
LARGEST_PROGRAM = 1 << 20  # bytes that a compiled pattern may take
SCALARS = (str, int, float, bool, type(None))


class _Missing:
    """No value at a path; null is a value."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()
Test = Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Condition:
    """A compiled condition, with the paths it reads and the equalities it requires."""

    holds: Test
    paths: tuple[str, ...]
    needs: tuple[tuple[str, Any], ...]


def compiled(condition: Mapping[str, Any]) -> Condition:
    return Condition(
        holds=_object(condition),
        paths=tuple(sorted(set(_paths(condition, "")))),
        needs=tuple(_needs(condition)),
    )


def lookup(context: Any, path: str) -> Any:
    """Return the value at a path: the literal key, else step by step along its dots."""
    if isinstance(context, Mapping) and path in context:
        return context[path]
    here = context
    for step in path.split(".") if "." in path else (path,):
        here = _step(here, step)
        if here is MISSING:
            return MISSING
    return here


def _step(here: Any, step: str) -> Any:
    if isinstance(here, Mapping):
        return here.get(step, MISSING)
    if isinstance(here, list) and step.isascii() and step.isdigit() and len(step) < 7:  # noqa: PLR2004
        return here[int(step)] if int(step) < len(here) else MISSING
    return MISSING


def same(left: Any, right: Any) -> bool:
    """Equal as JSON: true is not 1, but 1.0 is."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return left is not MISSING and right is not MISSING and bool(left == right)


def is_operator(key: str) -> bool:
    return key.startswith("$")


# --- Compilation ----------------------------------------------------------------------------------


def _object(condition: Mapping[str, Any]) -> Test:
    tests = [
        _operator(key, expected) if is_operator(key) else _at(key, _value(expected))
        for key, expected in condition.items()
    ]
    if len(tests) == 1:
        return tests[0]
    return lambda value: all(test(value) for test in tests)


def _at(path: str, test: Test) -> Test:
    return lambda value: test(lookup(value, path))


def _value(expected: Any) -> Test:
    if isinstance(expected, Mapping):
        if any(map(is_operator, expected)):
            return _object(expected)
        inside = _object(expected)
        return lambda value: isinstance(value, Mapping) and inside(value)
    if isinstance(expected, list):
        if all(map(_is_scalar, expected)):
            return _holds_scalars(expected)
        items = [_value(item) for item in expected]
        return lambda value: (
            isinstance(value, list) and all(any(item(one) for one in value) for item in items)
        )
    return lambda value: same(value, expected)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, SCALARS)


def _key(scalar: Any) -> tuple[bool, Any]:
    """Return a key that is equal for equal scalars: true is not 1."""
    return isinstance(scalar, bool), scalar


def _holds_scalars(expected: Iterable[Any]) -> Test:
    """Test whether a list contains all of these scalars, in linear time."""
    keys = frozenset(map(_key, expected))
    return lambda value: (
        isinstance(value, list) and keys.issubset(_key(one) for one in value if _is_scalar(one))
    )


def _never(value: Any) -> bool:
    return False


def _operator(name: str, expected: Any) -> Test:
    """Return a test that never holds for unknown operators and wrong operands."""
    make = _OPERATORS.get(name)
    return make(expected) if make else _never


def _combined(combine: Callable[[Iterable[bool]], bool]) -> Callable[[Any], Test]:
    def make(expected: Any) -> Test:
        if not isinstance(expected, list) or not expected:
            return _never
        tests = [_here(one) for one in expected]
        return lambda value: combine(test(value) for test in tests)

    return make


def _here(expected: Any) -> Test:
    """Test the value at the present path; anything but an object is compared with it."""
    return _object(expected) if isinstance(expected, Mapping) else _value(expected)


def _not(expected: Any) -> Test:
    test = _here(expected)
    return lambda value: not test(value)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any], Test]:
    """Compare numbers with numbers and texts with texts; anything else has no order."""

    def make(expected: Any) -> Test:
        kind = _order_of(expected)
        if kind is None:
            return _never
        return lambda value: _order_of(value) is kind and compare(value, expected)

    return make


def _order_of(value: Any) -> type | None:
    if isinstance(value, str):
        return str
    return float if isinstance(value, int | float) and not isinstance(value, bool) else None


def _among(expected: Any) -> Test:
    if not isinstance(expected, list):
        return _never
    if all(map(_is_scalar, expected)):
        keys = frozenset(map(_key, expected))
        return lambda value: _is_scalar(value) and _key(value) in keys
    return lambda value: any(same(value, one) for one in expected)


def _not_among(expected: Any) -> Test:
    among = _among(expected)
    return (lambda value: not among(value)) if isinstance(expected, list) else _never


def _contains(expected: Any) -> Test:
    items = expected if isinstance(expected, list) else [expected]
    in_list = _holds_scalars(items) if all(map(_is_scalar, items)) else _holds_all(items)
    if not isinstance(expected, str):
        return in_list
    return lambda value: expected in value if isinstance(value, str) else in_list(value)


def _holds_all(items: list[Any]) -> Test:
    return lambda value: (
        isinstance(value, list) and all(any(same(one, item) for one in value) for item in items)
    )


def _exists(expected: Any) -> Test:
    if not isinstance(expected, bool):
        return _never
    return lambda value: (value is not MISSING) is expected


def _matches(expected: Any) -> Test:
    """Search a text, in time linear in its length."""
    pattern = safe_pattern(expected)
    if pattern is None:
        return _never
    return lambda value: isinstance(value, str) and pattern.search(value) is not None


def safe_pattern(expected: Any) -> Any:
    """Return the compiled pattern, or None if it is too long or not linear."""
    if not isinstance(expected, str) or len(expected) > LONGEST_PATTERN:
        return None
    options = re2.Options()
    options.log_errors = False
    options.max_mem = LARGEST_PROGRAM
    try:
        return re2.compile(expected, options)
    except (re2.error, UnicodeEncodeError):
        return None


_OPERATORS: dict[str, Callable[[Any], Test]] = {
    "$and": _combined(all),
    "$or": _combined(any),
    "$not": _not,
    "$eq": lambda expected: lambda value: same(value, expected),
    "$ne": lambda expected: lambda value: not same(value, expected),
    "$in": _among,
    "$nin": _not_among,
    "$gt": _ordered(lambda value, expected: bool(value > expected)),
    "$gte": _ordered(lambda value, expected: bool(value >= expected)),
    "$lt": _ordered(lambda value, expected: bool(value < expected)),
    "$lte": _ordered(lambda value, expected: bool(value <= expected)),
    "$contains": _contains,
    "$exists": _exists,
    "$regex": _matches,
}
OPERATORS = tuple(_OPERATORS)
_INWARD = ("$and", "$or", "$not")  # contain conditions on the same path


# --- Paths and required equalities ----------------------------------------------------------------


def _paths(condition: Any, above: str) -> Iterator[str]:
    if not isinstance(condition, Mapping) or not condition:
        if above:
            yield above
        return
    for key, expected in condition.items():
        if not is_operator(key):
            yield from _paths(expected, f"{above}.{key}" if above else key)
        elif key in _INWARD:
            for one in expected if isinstance(expected, list) else [expected]:
                yield from _paths(one, above)
        elif above:
            yield above


def _needs(condition: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield equalities without which the condition cannot hold, for the index of rules."""
    for key, expected in condition.items():
        if key == "$and" and isinstance(expected, list):
            for one in expected:
                if isinstance(one, Mapping):
                    yield from _needs(one)
        elif is_operator(key):
            continue
        elif isinstance(expected, str):
            yield key, expected
        elif isinstance(expected, Mapping) and isinstance(expected.get("$eq"), str):
            yield key, expected["$eq"]
