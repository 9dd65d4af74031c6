"""The transaction of one source of a call, whose statements end within one deadline."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any
from uuid import UUID

from django.db import DatabaseError, OperationalError, connection

from kmapp.accounts.acting import acting
from kmapp.providers.errors import ProviderError, ProviderTimeout

QUERY_CANCELED = "57014"  # SQLSTATE of a statement that timed out
SET_TIMEOUT = "SELECT set_config('statement_timeout', %s, true)"
# The timeout is lowered before a statement only if less than this share of it is left, to avoid
# statements that set it: most sources use a small part of their time.
LOWERED_SHARE = 0.8


@contextmanager
def limit_source(account_id: UUID, left: float) -> Iterator[None]:
    """Run a transaction whose statements together may take `left` milliseconds.

    Translates database errors into those that the circuit breaker counts.
    """
    try:
        with acting(account_id), connection.cursor() as cursor:
            cursor.execute(SET_TIMEOUT, [f"{left:.0f}"])
            with connection.execute_wrapper(_build_wrapper(left)):
                yield
            cursor.execute("SET LOCAL statement_timeout TO DEFAULT")
    except OperationalError as error:
        if getattr(error.__cause__, "sqlstate", "") == QUERY_CANCELED:
            raise ProviderTimeout(f"No result within {left:.0f} ms.") from error
        raise ProviderError("The database did not respond.") from error
    except DatabaseError as error:
        raise ProviderError("The database rejected the query.") from error


def _build_wrapper(milliseconds: float) -> Callable[..., Any]:
    """Return a wrapper of statements that gives each one the time that is left."""
    until, timeout = monotonic() + milliseconds / 1000, milliseconds

    def execute(
        run: Callable[..., Any], sql: str, params: Any, many: Any, context: dict[str, Any]
    ) -> Any:
        nonlocal timeout
        left = (until - monotonic()) * 1000
        if left < 1:
            raise ProviderTimeout(f"No result within {milliseconds:.0f} ms.")
        if left < LOWERED_SHARE * timeout:
            timeout = left
            database = context["connection"]
            with database.wrap_database_errors:  # those of other statements are translated too
                database.connection.execute(SET_TIMEOUT, [f"{left:.0f}"])
        return run(sql, params, many, context)

    return execute
