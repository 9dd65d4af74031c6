"""A client that retries when the ledger is locked."""

from collections.abc import Callable

from django.db import OperationalError
from psycopg.errors import LockNotAvailable

TRIES = 10


def retry_while_locked(work: Callable[[], None]) -> None:
    """Run `work` again after a lock timeout, which the API answers with 503."""
    for _ in range(TRIES):
        try:
            return work()
        except OperationalError as error:
            if not isinstance(error.__cause__, LockNotAvailable):
                raise
    raise AssertionError(f"The chain was still locked after {TRIES} attempts.")
