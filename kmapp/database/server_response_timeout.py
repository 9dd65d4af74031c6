"""A bound for the time that a client waits for an answer of the database server.

The server enforces `statement_timeout`, but the network or a proxy may lose the answer. Without a
bound in the client, a thread would then wait until the operating system ends the connection, which
may be never.
"""

from typing import Any, TypeVar

import psycopg
from psycopg.abc import PQGen
from psycopg.pq import TransactionStatus

T = TypeVar("T")
MARGIN_SECONDS = 5.0  # seconds beyond the statement timeout, for the network
SECONDS_PER_UNIT = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


def parse_interval(text: str) -> float:
    """Return the seconds of a setting such as `5s`; a number without a unit has milliseconds."""
    number = text.strip().rstrip("abcdefghijklmnopqrstuvwxyz ")
    return float(number) * SECONDS_PER_UNIT[text.strip()[len(number) :].strip() or "ms"]


class BoundedConnection(psycopg.Connection[Any]):
    """A connection that is closed when the server does not answer a statement in time."""

    limit_seconds = 0.0  # seconds; 0 means no limit
    extended_limit_seconds = 0.0  # the limit until the end of this transaction, if it is longer

    def wait(self, gen: PQGen[T], interval: float = 0.1, timeout: float | None = None) -> T:
        """Wait for the server at most `limit_seconds` seconds."""
        if self.pgconn.transaction_status == TransactionStatus.IDLE:
            self.extended_limit_seconds = 0.0
        if not self.limit_seconds or timeout is not None:
            return super().wait(gen, interval, timeout)
        try:
            return super().wait(gen, interval, max(self.limit_seconds, self.extended_limit_seconds))
        except psycopg.errors._WaitTimeout as error:  # noqa: SLF001 - it has no public name
            self.pgconn.finish()  # what the server does with the statement is unknown
            raise psycopg.OperationalError("The database did not answer in time.") from error


def build_connection_class(statement_timeout: str) -> type[BoundedConnection]:
    """Return the class of connections whose statements may take this long; see the settings."""
    seconds = parse_interval(statement_timeout)
    limit = seconds + MARGIN_SECONDS if seconds else 0.0
    return type("BoundedConnection", (BoundedConnection,), {"limit_seconds": limit})


def extend_statement_timeout(connection: Any, seconds: int) -> None:
    """Allow longer statements until the transaction of this Django connection ends."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('statement_timeout', %s, true)", [f"{seconds}s"])
    if isinstance(connection.connection, BoundedConnection):
        connection.connection.extended_limit_seconds = seconds + MARGIN_SECONDS
