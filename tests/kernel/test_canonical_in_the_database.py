"""What goes through a column keeps its digest: the promise that canonical JSON rests on."""

import json
from typing import Any

import pytest
from django.db import connection
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kmapp.ledger.canonical import digest
from tests.strategies import column_values, json_values

SALT = bytes(range(16))
ONE_TRANSACTION = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


def round_trip(kind: str, value: Any) -> Any:
    """The value as PostgreSQL gives it back, the way Django asks for it."""
    with connection.cursor() as cursor:
        if kind == "jsonb":
            cursor.execute("SELECT %s::jsonb::text", [json.dumps(value)])
            return json.loads(cursor.fetchone()[0])
        cursor.execute(f"SELECT %s::{kind}", [value])
        return cursor.fetchone()[0]


@pytest.mark.django_db
@ONE_TRANSACTION
@given(json_values())
def test_jsonb_keeps_every_digest(value: Any) -> None:
    assert digest(SALT, round_trip("jsonb", value)) == digest(SALT, value)


@pytest.mark.django_db
@ONE_TRANSACTION
@given(
    st.lists(column_values(), max_size=5).map(
        lambda values: [value for value in values if not isinstance(value, list | dict)]
    )
)
def test_columns_keep_every_digest(values: list[Any]) -> None:
    kinds = {bool: "boolean", int: "bigint", float: "float8", str: "text"}
    for value in values:
        kind = kinds.get(type(value), "timestamptz" if hasattr(value, "tzinfo") else "uuid")
        if value is not None:
            assert digest(SALT, round_trip(kind, value)) == digest(SALT, value)
