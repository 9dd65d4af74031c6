"""Values that all rows of a batch have in common. Pure."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

# Equal values of these types are written alike. Numbers are not: 1 == 1.0 == True, and 0.0 == -0.0.
# Nor are times: those of an hour that a time zone repeats are equal, but not the same moment.
_COMPARABLE = (str, UUID, type(None))


def has_one_value(values: Sequence[Any]) -> bool:
    """Return whether these values are the same, so that one can be written in place of all.

    Numbers, times and containers with content count as the same only if they are the same object.
    """
    first = values[0]
    if isinstance(first, _COMPARABLE) or (isinstance(first, list | dict) and not first):
        return values.count(first) == len(values)
    return all(value is first for value in values)
