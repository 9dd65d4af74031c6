"""Concurrent operations: two in a fixed order, and retries while the ledger is locked."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from time import monotonic, sleep
from typing import Any, TypeVar

from django.db import OperationalError, connection, connections
from psycopg.errors import LockNotAvailable

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account

T = TypeVar("T")
TIMEOUT_SECONDS = 60
TRIES = 10
# pg_stat_activity is a snapshot of the first read within a transaction, so pg_locks is used.
WAITING = """
SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))
"""


def run_concurrently(
    account: Account,
    first: Callable[[], object],
    second: Callable[[], T],
    *,
    then: Callable[[], object] | None = None,
) -> T:
    """Run `second` while `first` is uncommitted; return the result of `second`.

    The transaction of `first` continues with `then` once `second` waits for it.
    """
    with ThreadPoolExecutor(1) as pool:
        with acting(account):
            first()
            later = pool.submit(run_on_own_connection, second)
            wait_until_blocked(later)
            if then:
                then()
        return later.result(TIMEOUT_SECONDS)


def run_on_own_connection(operation: Callable[[], T]) -> T:
    """Run `operation` and close the connections of this thread afterwards."""
    try:
        return operation()
    finally:
        connections.close_all()


def wait_until_blocked(later: "Future[Any]") -> None:
    """Wait until `later` is blocked by this transaction or has finished."""
    end = monotonic() + TIMEOUT_SECONDS
    while not later.done() and not _is_blocked():
        assert monotonic() < end
        sleep(0.01)


def _is_blocked() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(WAITING)
        return bool(cursor.fetchone()[0])


def retry_while_locked(work: Callable[[], None]) -> None:
    """Run `work` again after a lock timeout, which the API answers with 503."""
    for _ in range(TRIES):
        try:
            return work()
        except OperationalError as error:
            if not isinstance(error.__cause__, LockNotAvailable):
                raise
    raise AssertionError(f"The chain was still locked after {TRIES} attempts.")
