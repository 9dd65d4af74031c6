"""Reading by SQL, and cursors beside Django's: one prepares statements, one transfers bytes.

PostgreSQL parses, rewrites for row-level security and plans a statement of the ORM each time. For
constant statements that run often, such as the inserts of a new memory, that takes longer than
running them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Self, TypeVar
from weakref import WeakKeyDictionary

import psycopg
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.db.backends.utils import CursorWrapper

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")
_is_direct_by_connection: WeakKeyDictionary[psycopg.Connection[Any], bool] = WeakKeyDictionary()


def fetch_all(
    statement: str,
    parameters: Sequence[Any] | Mapping[str, Any] | None = None,
    using: str = DEFAULT_DB_ALIAS,
) -> list[Any]:
    """Return the rows of a statement, as tuples."""
    with connections[using].cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())


def fetch_as(shape: type[T], source: str, *values: Any) -> list[T]:
    """Return rows as dataclasses. `source` is what follows FROM; its columns are their fields."""
    names = [field.name for field in fields(shape)]
    rows = fetch_all(f"SELECT {', '.join(names)} FROM {source}", values)  # noqa: S608 - constants
    build: Callable[..., T] = shape
    return [build(**dict(zip(names, row, strict=True))) for row in rows]


def prepared_cursor() -> CursorWrapper:
    """Return a cursor that sends values apart from the statement.

    A connection prepares a statement at its second use.
    Give every value a type in the statement, unless its column has one.
    """
    connection.ensure_connection()
    # A log of statements shows values, which a prepared statement does not contain.
    if connection.queries_logged or not _is_direct(connection.connection):
        return connection.cursor()
    return connection.make_cursor(_PreparingCursor(connection.connection))  # type: ignore[arg-type]


def binary_cursor() -> CursorWrapper:
    """Return a cursor that transfers bytes as they are, not as hexadecimal text."""
    connection.ensure_connection()
    cursor = psycopg.Cursor(connection.connection)
    cursor.format = psycopg.pq.Format.BINARY
    return connection.make_cursor(cursor)  # type: ignore[arg-type]


class _PreparingCursor(psycopg.Cursor[Any]):
    def execute(self, *args: Any, **options: Any) -> Self:
        """Execute a statement, and prepare it if this connection has executed it before.

        The threshold of the connection applies to this cursor only: with one, the connection would
        also store the statements of other cursors, whose values are part of their text.
        """
        self.connection.prepare_threshold = 1
        try:
            return super().execute(*args, **options)
        finally:
            self.connection.prepare_threshold = None


def _is_direct(raw: psycopg.Connection[Any]) -> bool:
    """Return whether the connection is to the server, and not to a pooler that shares sessions.

    A statement is prepared in one session. A pooler states another process than the session's.
    """
    is_direct = _is_direct_by_connection.get(raw)
    if is_direct is None:
        with connection.wrap_database_errors:
            row = raw.execute("SELECT pg_backend_pid()").fetchone()
        is_direct = _is_direct_by_connection[raw] = row == (raw.info.backend_pid,)
    return is_direct
