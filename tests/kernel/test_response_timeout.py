"""The client-side timeout of statements, for database servers that do not respond."""

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from kmapp.database.server_response_timeout import (
    BoundedConnection,
    build_connection_class,
    parse_interval,
)
from kmapp.runtime import env


@pytest.mark.parametrize(
    ("text", "seconds"), [("5s", 5), ("250ms", 0.25), ("1min", 60), ("0", 0), ("1500", 1.5)]
)
def test_reads_times_as_postgres_writes_them(text: str, seconds: float) -> None:
    assert parse_interval(text) == seconds


def test_waits_for_a_statement_and_some_more() -> None:
    assert build_connection_class("5s").limit_seconds == 10
    assert build_connection_class("0").limit_seconds == 0


@pytest.mark.usefixtures("db")
def test_connection_that_does_not_answer_in_time_is_closed() -> None:

    connection.ensure_connection()
    address = env.address(settings.DATABASES["default"])
    silent = BoundedConnection.connect(**address, autocommit=True)
    silent.extended_limit_seconds = 60
    silent.limit_seconds = 60
    assert silent.execute("SELECT 1").fetchone() == (1,)
    assert silent.extended_limit_seconds == 0, "the extension ends with its transaction"
    silent.limit_seconds = 0.01
    with pytest.raises(psycopg.OperationalError, match="did not answer in time"):
        silent.execute("SELECT pg_sleep(60)")
    assert silent.closed
