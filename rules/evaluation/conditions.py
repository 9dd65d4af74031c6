"""Conditions of rules, compiled once and matched against many contexts. Pure.

A condition is an object. Its keys are paths in the context, with dots for nested ones; its values
are scalars (equal), objects (a condition on the value there, or operators) or lists (whose items
must all be in the context's list). Types never convert: 1 is not true and not "1".
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rules.evaluation.equality import MISSING, equality_key, is_equal, is_scalar, scalar_key
from rules.evaluation.patterns import list_patterns, load_pattern
from rules.evaluation.time_limit import check_time

Test = Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Condition:
    """A compiled condition, with its paths, the equalities it requires, and its patterns."""

    matches: Test
    paths: tuple[str, ...]
    equalities: tuple[tuple[str, Any], ...]
    patterns: frozenset[str]


def compile_condition(condition: Mapping[str, Any]) -> Condition:
    return Condition(
        matches=_compile_object(condition),
        paths=tuple(sorted(set(_list_paths(condition, "")))),
        equalities=tuple(_list_equalities(condition)),
        patterns=frozenset(list_patterns(condition)),
    )


def find_value(context: Any, path: str) -> Any:
    """Return the value at a path: the literal key, else step by step along its dots."""
    if isinstance(context, Mapping) and path in context:
        return context[path]
    current = context
    for step in path.split(".") if "." in path else (path,):
        current = _find_child(current, step)
        if current is MISSING:
            return MISSING
    return current


def _find_child(container: Any, step: str) -> Any:
    if isinstance(container, Mapping):
        return container.get(step, MISSING)
    if isinstance(container, list) and step.isascii() and step.isdigit() and len(step) < 7:  # noqa: PLR2004
        return container[int(step)] if int(step) < len(container) else MISSING
    return MISSING


def is_operator(key: str) -> bool:
    return key.startswith("$")


# --- Compilation ----------------------------------------------------------------------------------


def _compile_object(condition: Mapping[str, Any]) -> Test:
    tests = [
        _compile_operator(key, expected)
        if is_operator(key)
        else _compile_path(key, _compile_value(expected))
        for key, expected in condition.items()
    ]
    if len(tests) == 1:
        return tests[0]
    return lambda value: all(test(value) for test in tests)


def _compile_path(path: str, test: Test) -> Test:
    return lambda value: test(find_value(value, path))


def _compile_value(expected: Any) -> Test:
    if isinstance(expected, Mapping):
        if any(map(is_operator, expected)):
            return _compile_object(expected)
        test = _compile_object(expected)
        return lambda value: isinstance(value, Mapping) and test(value)
    if isinstance(expected, list):
        if all(map(is_scalar, expected)):
            return _compile_contains_all(expected)
        items = [_compile_value(item) for item in expected]
        return lambda value: (
            isinstance(value, list) and all(_matches_any(item, value) for item in items)
        )
    return lambda value: is_equal(value, expected)


def _matches_any(item: Test, values: Iterable[Any]) -> bool:
    check_time()
    return any(item(one) for one in values)


def _compile_contains_all(expected: Iterable[Any]) -> Test:
    """Test whether a list contains all of these values, in linear time."""
    keys = frozenset(map(equality_key, expected))

    def test(value: Any) -> bool:
        check_time()
        return isinstance(value, list) and keys.issubset(map(equality_key, value))

    return test


def _match_nothing(value: Any) -> bool:
    return False


def _compile_operator(name: str, expected: Any) -> Test:
    """Return a test that never holds for unknown operators and wrong operands."""
    compile_operand = _OPERATORS.get(name)
    return compile_operand(expected) if compile_operand else _match_nothing


def _build_combination(combine: Callable[[Iterable[bool]], bool]) -> Callable[[Any], Test]:
    def compile_operand(expected: Any) -> Test:
        if not isinstance(expected, list) or not expected:
            return _match_nothing
        tests = [_compile_operand(one) for one in expected]
        return lambda value: combine(test(value) for test in tests)

    return compile_operand


def _compile_operand(expected: Any) -> Test:
    """Test the value at the present path; anything but an object is compared with it."""
    return _compile_object(expected) if isinstance(expected, Mapping) else _compile_value(expected)


def _compile_not(expected: Any) -> Test:
    test = _compile_operand(expected)
    return lambda value: not test(value)


def _build_comparison(compare: Callable[[Any, Any], bool]) -> Callable[[Any], Test]:
    """Compare numbers with numbers and texts with texts; anything else has no order."""

    def compile_operand(expected: Any) -> Test:
        kind = _find_order_type(expected)
        if kind is None:
            return _match_nothing
        return lambda value: _find_order_type(value) is kind and compare(value, expected)

    return compile_operand


def _find_order_type(value: Any) -> type | None:
    if isinstance(value, str):
        return str
    return float if isinstance(value, int | float) and not isinstance(value, bool) else None


def _compile_in(expected: Any) -> Test:
    if not isinstance(expected, list):
        return _match_nothing
    if all(map(is_scalar, expected)):
        keys = frozenset(map(scalar_key, expected))
        return lambda value: is_scalar(value) and scalar_key(value) in keys
    return lambda value: any(is_equal(value, one) for one in expected)


def _compile_not_in(expected: Any) -> Test:
    is_in = _compile_in(expected)
    return (lambda value: not is_in(value)) if isinstance(expected, list) else _match_nothing


def _compile_contains(expected: Any) -> Test:
    in_list = _compile_contains_all(expected if isinstance(expected, list) else [expected])
    if not isinstance(expected, str):
        return in_list
    return lambda value: expected in value if isinstance(value, str) else in_list(value)


def _compile_exists(expected: Any) -> Test:
    if not isinstance(expected, bool):
        return _match_nothing
    return lambda value: (value is not MISSING) is expected


def _compile_regex(expected: Any) -> Test:
    """Search a text, in time linear in its length.

    The pattern is compiled when a text is first searched, and again after it has left the cache.
    """
    if not isinstance(expected, str):
        return _match_nothing

    def test(value: Any) -> bool:
        check_time()
        if not isinstance(value, str):
            return False
        pattern = load_pattern(expected)
        return pattern is not None and pattern.search(value) is not None

    return test


_OPERATORS: dict[str, Callable[[Any], Test]] = {
    "$and": _build_combination(all),
    "$or": _build_combination(any),
    "$not": _compile_not,
    "$eq": lambda expected: lambda value: is_equal(value, expected),
    "$ne": lambda expected: lambda value: not is_equal(value, expected),
    "$in": _compile_in,
    "$nin": _compile_not_in,
    "$gt": _build_comparison(lambda value, expected: bool(value > expected)),
    "$gte": _build_comparison(lambda value, expected: bool(value >= expected)),
    "$lt": _build_comparison(lambda value, expected: bool(value < expected)),
    "$lte": _build_comparison(lambda value, expected: bool(value <= expected)),
    "$contains": _compile_contains,
    "$exists": _compile_exists,
    "$regex": _compile_regex,
}
OPERATORS = tuple(_OPERATORS)
_NESTING = ("$and", "$or", "$not")  # contain conditions on the same path


# --- Paths and required equalities ----------------------------------------------------------------


def _list_paths(condition: Any, prefix: str) -> Iterator[str]:
    if not isinstance(condition, Mapping) or not condition:
        if prefix:
            yield prefix
        return
    for key, expected in condition.items():
        if not is_operator(key):
            yield from _list_paths(expected, f"{prefix}.{key}" if prefix else key)
        elif key in _NESTING:
            for one in expected if isinstance(expected, list) else [expected]:
                yield from _list_paths(one, prefix)
        elif prefix:
            yield prefix


def _list_equalities(condition: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield equalities without which the condition cannot hold, for the index of rules."""
    for key, expected in condition.items():
        if key == "$and" and isinstance(expected, list):
            for one in expected:
                if isinstance(one, Mapping):
                    yield from _list_equalities(one)
        elif is_operator(key):
            continue
        elif isinstance(expected, str):
            yield key, expected
        elif isinstance(expected, Mapping) and isinstance(expected.get("$eq"), str):
            yield key, expected["$eq"]
