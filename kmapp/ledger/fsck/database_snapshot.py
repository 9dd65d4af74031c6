"""The database, read in one snapshot."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from psycopg import sql

BLOCK_ROWS = 2000
SESSION_SETTINGS = {
    "statement_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
    "TimeZone": "UTC",
}


class Snapshot:
    """A read-only snapshot of the database that reads one account at a time."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self.connection = connection
        self.account = ""

    def set_account(self, account: str) -> None:
        """Read only the rows of this account from now on."""
        self.account = account
        self.connection.execute("SELECT set_config('app.account_id', %s, true)", [account])

    def fetch_all(self, query: str | sql.Composed, *params: Any) -> list[Any]:
        return self.connection.execute(query, params or None).fetchall()

    def stream(self, query: str | sql.Composed, *params: Any) -> Iterator[Any]:
        with self.connection.cursor(name="fsck") as cursor:
            cursor.itersize = BLOCK_ROWS
            cursor.execute(query, params or None)
            yield from cursor

    def stream_blocks(self, query: str | sql.Composed, *params: Any) -> Iterator[Sequence[Any]]:
        """Yield rows in blocks; other queries may run in between."""
        with self.connection.cursor(name="fsck_blocks") as cursor:
            cursor.execute(query, params or None)
            while block := cursor.fetchmany(BLOCK_ROWS):
                yield block

    def load_columns(self, table: str) -> dict[str, str]:
        """Return the columns of a table and their types, or {} if there is no such table."""
        rows = self.fetch_all(
            "SELECT attname, format_type(atttypid, NULL) FROM pg_attribute"
            " WHERE attrelid = to_regclass(%s) AND attnum > 0 AND NOT attisdropped ORDER BY attnum",
            table,
        )
        return dict(rows)


@contextmanager
def open_snapshot(address: Mapping[str, Any]) -> Iterator[Snapshot]:
    with psycopg.connect(**address) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        for (
            name,
            value,
        ) in SESSION_SETTINGS.items():  # of the transaction, because a pooler drops others
            connection.execute("SELECT set_config(%s, %s, true)", [name, value])
        yield Snapshot(connection)
