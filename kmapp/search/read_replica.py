"""Searches on a replica of the database (`DATABASE_REPLICA_URL`).

A replica is behind the primary. A search uses it only if it has the newest commit of the account,
so that agents find what they have just written, and everything older than `MAX_LAG`. Otherwise, or
if the replica fails, the search uses the primary. What has no commit, such as a vector, may
therefore be missing for `MAX_LAG` seconds.
"""

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import NamedTuple, TypeVar
from uuid import UUID

import structlog
from django.db import DEFAULT_DB_ALIAS, DatabaseError, InterfaceError, connection, connections
from prometheus_client import Counter

from kmapp.accounts.acting import acting
from kmapp.database.raw_sql import fetch_all

log = structlog.get_logger()
ALIAS = "replica"  # of the database in the settings
MAX_LAG = 10.0  # seconds
SAMPLE_INTERVAL = 1.0  # seconds between remembered positions of the primary
PAUSE = 5.0  # seconds without the replica after a failure
SEARCHES = Counter(
    "kmapp_replica_searches", "Searches that could use the replica, by outcome.", ["outcome"]
)
T = TypeVar("T")


class Position(NamedTuple):
    """The state of a server: the newest commit of an account, and its place in the WAL."""

    seq: int
    wal: int  # bytes


class _ReplicaState:
    """What this process knows of the replica."""

    def __init__(self) -> None:
        self.paused_until = 0.0
        self.samples: deque[tuple[float, int]] = deque(maxlen=int(2 * MAX_LAG / SAMPLE_INTERVAL))

    def clear(self) -> None:
        self.paused_until = 0.0
        self.samples.clear()

    def add_sample(self, now: float, wal: int) -> None:
        """Remember the primary's place in the WAL."""
        if not self.samples or now - self.samples[-1][0] >= SAMPLE_INTERVAL:
            self.samples.append((now, wal))

    def is_recent(self, now: float, primary: Position, replica: Position) -> bool:
        """Return whether the replica has the account's newest commit and lags at most `MAX_LAG`."""
        recent = (wal for at, wal in [*self.samples] if now - at <= MAX_LAG)
        required = min(recent, default=primary.wal)  # none recent after the process was suspended
        return replica.seq >= primary.seq and replica.wal >= required


replica_state = _ReplicaState()


def run_on_replica(account_id: UUID, search: Callable[[], T]) -> T:
    """Run a search of an account on the replica if it is recent, otherwise on the primary.

    `search` opens `acting` itself and writes nothing; after a failure of the replica, it runs again
    on the primary. Inside a transaction, it runs on the primary, where it sees what the transaction
    wrote.
    """
    if not is_configured() or connection.in_atomic_block or connection.alias == ALIAS:
        return search()
    if monotonic() < replica_state.paused_until:
        SEARCHES.labels("paused").inc()
        return search()
    primary = load_position(account_id)
    replica_state.add_sample(monotonic(), primary.wal)
    try:
        with use_replica():
            if replica_state.is_recent(monotonic(), primary, load_position(account_id)):
                result = search()
                SEARCHES.labels("replica").inc()
                return result
        SEARCHES.labels("behind").inc()
    except (DatabaseError, InterfaceError) as error:
        connections[ALIAS].close()
        replica_state.paused_until = monotonic() + PAUSE
        SEARCHES.labels("failed").inc()
        log.warning("replica_failed", error=type(error).__name__)
    return search()


def is_configured() -> bool:
    return ALIAS in connections


@contextmanager
def use_replica() -> Iterator[None]:
    """Let this thread read from the replica. Outside of transactions; writes raise an error."""
    primary = connections[DEFAULT_DB_ALIAS]
    connections[DEFAULT_DB_ALIAS] = connections[ALIAS]
    try:
        yield
    finally:
        connections[DEFAULT_DB_ALIAS] = primary


_POSITION_SQL = """
SELECT coalesce(
    (SELECT seq FROM ledger_commit WHERE account_id = %s ORDER BY seq DESC LIMIT 1), 0),
  (CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END
   - '0/0'::pg_lsn)::bigint
"""


def load_position(account_id: UUID) -> Position:
    """Return the position of the server that this thread reads from."""
    with acting(account_id):
        [position] = fetch_all(_POSITION_SQL, [account_id])
    return Position(*position)


def compute_lag(account_id: UUID) -> int:
    """Return how many bytes of WAL the replica has still to replay. Raise if it cannot be read."""
    with use_replica():
        replica = load_position(account_id)
    return max(0, load_position(account_id).wal - replica.wal)
