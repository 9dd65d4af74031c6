"""Two at once, always in the same order: what comes second waits for the first in the database."""

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from time import monotonic, sleep
from typing import Any, TypeVar

from django.db import connection, connections

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account

T = TypeVar("T")
LONGEST = 60  # seconds
# Not pg_stat_activity: within a transaction that stays as it was when one first looked.
WAITING = """
SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))
"""


def at_once(account: Account, first: Callable[[], object], second: Callable[[], T]) -> T:
    """Do `second` while `first` is done and not committed. What came of the second."""
    with ThreadPoolExecutor(1) as pool:
        with acting(account):
            first()
            later = pool.submit(apart, second)
            until_it_waits(later)
        return later.result(LONGEST)


def apart(deed: Callable[[], T]) -> T:
    """Do it on the connection of a thread that ends with it."""
    try:
        return deed()
    finally:
        connections.close_all()


def until_it_waits(later: "Future[Any]") -> None:
    """Until the other waits for what our transaction holds, or is done without."""
    end = monotonic() + LONGEST
    while not later.done() and not _somebody_waits():
        assert monotonic() < end
        sleep(0.01)


def _somebody_waits() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(WAITING)
        return bool(cursor.fetchone()[0])
