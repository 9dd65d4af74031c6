"""Every storable value has one canonical form, and every other value is rejected."""

import json
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kmapp.ledger.canonical import MAX_DEPTH, Unstorable, check_storable, digest, encode_canonical
from tests.strategies import column_values, json_values, texts, unstorable_leaves

SALT = bytes(range(16))


class Colour(str, Enum):  # noqa: UP042 (its str() is its name, the trap)
    RED = "red"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "null"),
        (True, "true"),
        (1.0, "1"),
        (-0.0, "0"),
        (1e15, "1000000000000000"),
        (2**53 - 1, "9007199254740991"),
        (0.1, "0.1"),
        (1e-7, "1e-07"),
        ("é中😀\u2028", '"é中😀\u2028"'),
        ('"\\\n', r'"\"\\\n"'),
        ({"b": 1, "a": [True, None]}, '{"a":[true,null],"b":1}'),
        ({"\uffff": 1, "\U00010000": 2}, '{"\uffff":1,"\U00010000":2}'),
        ((1, 2), "[1,2]"),
        (Colour.RED, '"red"'),
        ({Colour.RED: 1}, '{"red":1}'),
        (UUID(int=1), '"00000000-0000-0000-0000-000000000001"'),
        (datetime(2026, 1, 2, 3, 4, 5, 6, UTC), '"2026-01-02T03:04:05.000006Z"'),
        (datetime(33, 1, 2, tzinfo=UTC), '"0033-01-02T00:00:00.000000Z"'),
    ],
)
def test_canonical_forms(value: Any, expected: str) -> None:
    assert encode_canonical(value).decode() == expected


def test_equal_instants_in_two_zones_have_one_form() -> None:
    shanghai = timezone(timedelta(hours=8))
    assert encode_canonical(datetime(2026, 1, 1, 8, tzinfo=shanghai)) == encode_canonical(
        datetime(2026, 1, 1, tzinfo=UTC)
    )


@pytest.mark.parametrize(
    ("value", "path", "reason"),
    [
        ({"a": {"b.c": "x\0"}}, "a.b.c", "NUL"),
        ([0, "\ud800"], "1", "surrogate"),
        ({"x\0": 1}, "", "NUL"),
        ({1: 1}, "", "not text"),
        ([float("nan")], "0", "finite"),
        (float("inf"), "", "finite"),
        (2**53, "", "9007199254740991"),
        (-(2**53), "", "9007199254740991"),
        pytest.param(10**5000, "", "9007199254740991", id="five thousand digits"),
        (1e16, "", "9007199254740991"),
        (Decimal(1), "", "Decimal"),
        (b"", "", "bytes"),
        (datetime(2026, 1, 1), "", "time zone"),  # noqa: DTZ001
        (datetime.min.replace(tzinfo=timezone(timedelta(hours=8))), "", "years 1 to 9999"),
    ],
)
def test_unstorable_value_is_rejected_with_its_path(value: Any, path: str, reason: str) -> None:
    with pytest.raises(Unstorable, match=reason) as refused:
        check_storable(value)
    assert refused.value.path == path


def test_path_starts_with_the_given_prefix() -> None:
    with pytest.raises(Unstorable) as refused:
        check_storable([float("nan")], "nodes.3.slots")
    assert refused.value.path == "nodes.3.slots.0"
    assert str(refused.value) == "nodes.3.slots.0: is not a finite number"


def test_long_key_is_truncated_in_the_path() -> None:
    long = "k" * 500_000
    with pytest.raises(Unstorable) as refused:
        check_storable({long: [*range(100_000), float("nan")]})  # all paths would take 50 GB
    assert refused.value.path == "k" * 100 + "….100000"


@pytest.mark.parametrize("levels", [MAX_DEPTH + 1, 200_000])
def test_excessive_nesting_is_rejected(levels: int) -> None:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    with pytest.raises(Unstorable, match="nested deeper"):
        encode_canonical(value)
    check_storable(json.loads("[" * MAX_DEPTH + "]" * MAX_DEPTH))


@given(json_values())
def test_a_value_that_went_through_json_keeps_its_digest(value: Any) -> None:
    assert digest(SALT, json.loads(json.dumps(value))) == digest(SALT, value)


@given(json_values())
def test_canonical_bytes_read_back_as_the_value(value: Any) -> None:
    assert json.loads(encode_canonical(value)) == value


@given(column_values(), column_values())
def test_different_values_differ(one: Any, other: Any) -> None:
    assert (encode_canonical(one) == encode_canonical(other)) == (_typed(one) == _typed(other))


@given(st.dictionaries(texts(), st.integers(0, 9), min_size=2))
def test_the_order_of_keys_does_not_matter(value: dict[str, int]) -> None:
    assert encode_canonical(dict(reversed(value.items()))) == encode_canonical(value)


@given(unstorable_leaves(), texts())
def test_nested_unstorable_leaf_is_rejected(leaf: Any, key: str) -> None:
    with pytest.raises(Unstorable) as refused:
        encode_canonical({"fine": 1, key + "!": [None, leaf]})
    assert refused.value.path == f"{key}!.1"


def test_digest_depends_on_the_salt() -> None:
    assert digest(SALT, "x") != digest(SALT[::-1], "x")
    assert digest(SALT, "x") == "3b1fc3f0acdfe5a1819cbf8d76bf7f14e2cfaf9d5674aefe56db9cd71da75bdc"
    with pytest.raises(ValueError, match="at least 16 bytes"):
        digest(b"short", "x")


def _typed(value: Any) -> Any:
    """Return a value that equals another if their canonical forms do: 1 and 1.0, not 1 and True."""
    if isinstance(value, dict):
        return {key: _typed(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_typed(item) for item in value]
    if isinstance(value, datetime):
        return ("text", json.loads(encode_canonical(value)))
    if isinstance(value, UUID):
        return ("text", str(value))
    if isinstance(value, str):
        return ("text", value)
    return (isinstance(value, bool), value)


# --- In the database ------------------------------------------------------------------------------

ONE_TRANSACTION = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def round_trip(kind: str, value: Any) -> Any:
    """Return the value as PostgreSQL gives it back to Django."""
    with connection.cursor() as cursor:
        if kind == "jsonb":
            cursor.execute("SELECT %s::jsonb::text", [json.dumps(value)])
            return json.loads(cursor.fetchone()[0])
        cursor.execute(f"SELECT %s::{kind}", [value])
        return cursor.fetchone()[0]


@pytest.mark.django_db
@ONE_TRANSACTION
@given(json_values())
def test_jsonb_preserves_digests(value: Any) -> None:
    assert digest(SALT, round_trip("jsonb", value)) == digest(SALT, value)


@pytest.mark.django_db
@ONE_TRANSACTION
@given(
    st.lists(column_values(), max_size=5).map(
        lambda values: [value for value in values if not isinstance(value, list | dict)]
    )
)
def test_columns_preserve_digests(values: list[Any]) -> None:
    kinds = {bool: "boolean", int: "bigint", float: "float8", str: "text"}
    for value in values:
        kind = kinds.get(type(value), "timestamptz" if hasattr(value, "tzinfo") else "uuid")
        if value is not None:
            assert digest(SALT, round_trip(kind, value)) == digest(SALT, value)
