"""Values for property tests."""

from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

LARGEST = 2**53 - 1


def texts() -> st.SearchStrategy[str]:
    """Return texts that PostgreSQL stores: no NUL, no surrogate."""
    return st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)


def json_leaves() -> st.SearchStrategy[Any]:
    return (
        st.none()
        | st.booleans()
        | st.integers(-LARGEST, LARGEST)
        | st.floats(-LARGEST, LARGEST, allow_nan=False)
        | st.sampled_from([0.0, -0.0, 5e-324, -5e-324, 1e-7, 1e15, 9007199254740991.0, 0.1 + 0.2])
        | texts()
    )


def json_values() -> st.SearchStrategy[Any]:
    """Return values that the API accepts and a jsonb column returns unchanged."""
    return st.recursive(
        json_leaves(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts(), inner, max_size=4),
        max_leaves=20,
    )


def column_values() -> st.SearchStrategy[Any]:
    """Return values of columns: JSON values, times and UUIDs."""
    times = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.timezones())  # noqa: DTZ001
    return json_values() | times | st.uuids() | st.just(datetime(2026, 1, 2, tzinfo=UTC))


def unstorable_leaves() -> st.SearchStrategy[Any]:
    """Return values that must not reach the database."""
    return (
        st.sampled_from([float("nan"), float("inf"), float("-inf"), 1e16, -1e300, b"bytes", {1, 2}])
        | st.integers(min_value=LARGEST + 1)
        | st.integers(max_value=-LARGEST - 1)
        | st.decimals()
        | st.datetimes()
        | st.sampled_from(["a\0b", "\ud800", "x\udfff", "\ud83d\ude00"])
    )
