"""Cursors in addition to Django's: one prepares statements, one transfers bytes.

PostgreSQL parses, rewrites for row-level security and plans a statement of the ORM each time. For
constant statements that run often, such as the inserts of a new memory, that takes longer than
running them.

After a few uses, PostgreSQL may choose a plan for unknown values, which expects an account of
average size. So prepared statements list no rows of an account. They look rows up in a subquery for
each key (LATERAL … OFFSET 0), where no other plan is cheaper, however small that account is. Those
of `IndexedDocument` also list waiting documents: for this table, plans expect the largest account.
"""

from typing import Any, Self
from weakref import WeakKeyDictionary

import psycopg
from django.db import connection
from django.db.backends.utils import CursorWrapper

_is_direct_by_connection: WeakKeyDictionary[psycopg.Connection[Any], bool] = WeakKeyDictionary()


def prepared_cursor() -> CursorWrapper:
    """Return a cursor that sends values separately from the statement.

    A connection prepares a statement at its second use. Give every value a type in the statement,
    unless its column has one.
    """
    connection.ensure_connection()
    # A log of statements shows values, which a prepared statement does not contain.
    if connection.queries_logged or not _is_direct(connection.connection):
        return connection.cursor()
    return connection.make_cursor(_PreparingCursor(connection.connection))  # type: ignore[arg-type]


def binary_cursor(*, prepares: bool = False) -> CursorWrapper:
    """Return a cursor that transfers bytes as they are, not as hexadecimal text.

    It can prepare statements like a `prepared_cursor`.
    """
    connection.ensure_connection()
    raw = connection.connection
    is_prepared = prepares and _is_direct(raw)
    cursor: psycopg.Cursor[Any] = _PreparingCursor(raw) if is_prepared else psycopg.Cursor(raw)
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

    A prepared statement exists in one session only. A pooler reports another process id than the
    one of the session.
    """
    is_direct = _is_direct_by_connection.get(raw)
    if is_direct is None:
        with connection.wrap_database_errors:
            row = raw.execute("SELECT pg_backend_pid()").fetchone()
        is_direct = _is_direct_by_connection[raw] = row == (raw.info.backend_pid,)
    return is_direct
