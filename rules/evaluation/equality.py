"""Equality of JSON values, whose types never convert: 1 is not true and not "1". Pure."""

from collections.abc import Hashable, Mapping
from typing import Any, Final

SCALARS = (str, int, float, bool, type(None))


class _Missing:
    """No value at a path; null is a value."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()


def is_equal(left: Any, right: Any) -> bool:
    """Return whether both are equal as JSON: true is not 1, but 1.0 is."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, Mapping) and isinstance(right, Mapping):
        return left.keys() == right.keys() and all(is_equal(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(is_equal, left, right))
    return left is not MISSING and right is not MISSING and bool(left == right)


def is_scalar(value: Any) -> bool:
    return isinstance(value, SCALARS)


def scalar_key(scalar: Any) -> tuple[bool, Any]:
    """Return a key that is equal for equal scalars: true is not 1."""
    return isinstance(scalar, bool), scalar


def equality_key(value: Any) -> Hashable:
    """Return a key that is equal for values that `is_equal` calls equal."""
    if is_scalar(value):
        return scalar_key(value)
    if isinstance(value, Mapping):
        return "object", frozenset((key, equality_key(one)) for key, one in value.items())
    if isinstance(value, list):
        return "list", tuple(map(equality_key, value))
    return scalar_key(value)
