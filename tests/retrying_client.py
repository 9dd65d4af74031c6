"""What clients do who are told to come again."""

from collections.abc import Callable

from django.db import OperationalError
from psycopg.errors import LockNotAvailable

TRIES = 10


def insist(work: Callable[[], None]) -> None:
    """Who waits too long for the chain is told to come again (503), and does."""
    for _ in range(TRIES):
        try:
            return work()
        except OperationalError as error:
            if not isinstance(error.__cause__, LockNotAvailable):
                raise
    raise AssertionError(f"the chain was taken {TRIES} times")
