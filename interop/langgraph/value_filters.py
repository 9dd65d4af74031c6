"""Filters on the values of items, with the operators of LangGraph's stores. Pure."""

from collections.abc import Callable, Mapping
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from interop.field_validation import field_error

OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": eq,
    "$ne": ne,
    "$gt": gt,
    "$gte": ge,
    "$lt": lt,
    "$lte": le,
}


def matches(value: Any, expected: Any) -> bool:
    """Return whether a value fulfils a condition.

    A condition is a value, a mapping of operators, or a mapping of fields to conditions. Values
    that cannot be ordered do not fulfil an ordering.
    """
    if not isinstance(expected, Mapping):
        return bool(value == expected)
    if any(str(name).startswith("$") for name in expected):
        return all(_compare(name, value, other) for name, other in expected.items())
    return isinstance(value, Mapping) and all(
        matches(value.get(name), inner) for name, inner in expected.items()
    )


def _compare(operator: str, value: Any, other: Any) -> bool:
    if operator not in OPERATORS:
        raise field_error("filter", f"has the unknown operator {operator!r}")
    try:
        return OPERATORS[operator](value, other)
    except TypeError:
        return False
