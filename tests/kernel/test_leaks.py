"""Nothing of one account leaks to the next on the same connection."""

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice, pairwise
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import Error, connection, connections, transaction

from kmapp.accounts.acting import acting, current_account_id
from kmapp.accounts.models import Account
from kmapp.outbox import registry
from kmapp.outbox.deliver import deliver_due, paused_until
from kmapp.outbox.publish import NewJob, publish
from kmapp.outbox.registry import Job, register_handler
from tests import makers
from tests.promises.plugin import RecordFigure

pytestmark = pytest.mark.promise(24)

ALTERNATIONS = 1_000
THREADS = 4
POOL = {"min_size": 0, "max_size": 2, "timeout": 60}
JOBS = 100  # of each account
TOPIC = "test.leaks"
VISIBLE_ACCOUNTS = """
SELECT account_id FROM ledger_commit UNION SELECT account_id FROM accounts_apikey
UNION SELECT id FROM accounts_account
UNION SELECT nullif(current_setting('app.account_id', true), '')::uuid
"""


class HandlerFailed(Exception):
    """The failure of a request."""


def query_values(statement: str) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return [row[0] for row in cursor.fetchall()]


def visible_accounts() -> set[UUID]:
    """Return the accounts whose rows or id this connection sees."""
    return set(query_values(VISIBLE_ACCOUNTS)) - {None} | {
        each for each in [current_account_id()] if each
    }


def does_nothing(_other: UUID) -> None:
    """Do nothing."""


def fails(_other: UUID) -> None:
    raise HandlerFailed


def reads_as_other(other: UUID) -> None:
    with acting(other):
        assert visible_accounts() == {other}


def fails_as_other(other: UUID) -> None:
    with pytest.raises(HandlerFailed), acting(other):
        raise HandlerFailed


def times_out(_other: UUID) -> None:
    query_values("SELECT set_config('statement_timeout', '2ms', true)")
    query_values("SELECT pg_sleep(5)")


def is_cancelled(_other: UUID) -> None:
    query_values("SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep(5)")


def is_cancelled_as_other(other: UUID) -> None:
    with pytest.raises(Error, match="user request"), acting(other):
        is_cancelled(other)


def handles_an_error(_other: UUID) -> None:
    with pytest.raises(Error, match="division by zero"), transaction.atomic():
        query_values("SELECT 1 / 0")


def fails_twice(other: UUID) -> None:
    fails_as_other(other)
    raise HandlerFailed


EVENTS: list[Callable[[UUID], None]] = [
    does_nothing,
    fails,
    reads_as_other,
    fails_as_other,
    times_out,
    is_cancelled,
    is_cancelled_as_other,
    handles_an_error,
    fails_twice,
]


def visit(mine: UUID, other: UUID, event: Callable[[UUID], None]) -> list[str]:
    """Run an event as the account `mine`; return at which moments other accounts were visible."""
    leaks = [f"before {event}"] if visible_accounts() else []
    try:
        with acting(mine):
            leaks += [f"at the start of {event}"] if visible_accounts() != {mine} else []
            event(other)
            leaks += [f"after {event}"] if visible_accounts() != {mine} else []
    except (HandlerFailed, Error):
        pass  # a failed request, which must not affect the next one
    return leaks + ([f"behind {event}"] if visible_accounts() else [])


def alternate(pair: tuple[UUID, UUID], times: int) -> list[str]:
    """Run the events in order, as both accounts in turn."""
    assert len(EVENTS) % 2, "so that each event happens to both accounts"
    leaks = []
    for number, event in enumerate(islice(cycle(EVENTS), times)):
        leaks += visit(pair[number % 2], pair[1 - number % 2], event)
    return leaks


@pytest.fixture
def pair(committed: str, acme: Account, rival: Account) -> tuple[UUID, UUID]:
    for account in (acme, rival):
        makers.key(account)
    return acme.pk, rival.pk


def test_failing_events_raise(pair: tuple[UUID, UUID]) -> None:
    for event, why in ((times_out, "statement timeout"), (is_cancelled, "user request")):
        with pytest.raises(Error, match=f"canceling statement due to {why}"), acting(pair[0]):
            event(pair[1])


def test_nothing_leaks_on_one_connection(
    pair: tuple[UUID, UUID], record_figure: RecordFigure
) -> None:
    before = query_values("SELECT pg_backend_pid()")
    assert alternate(pair, ALTERNATIONS) == []
    assert query_values("SELECT pg_backend_pid()") == before
    record_figure(f"0 leaks in {ALTERNATIONS:,} events")


@pytest.fixture
def pooled(pair: tuple[UUID, UUID]) -> Iterator[None]:
    """A connection pool, as in the product, with fewer connections than threads."""
    default: Any = connections["default"]
    default.close()
    default.settings_dict["OPTIONS"]["pool"] = POOL
    try:
        yield
    finally:
        default.close()
        default.close_pool()
        del default.settings_dict["OPTIONS"]["pool"]


def test_nothing_leaks_through_the_pool(pooled: None, pair: tuple[UUID, UUID]) -> None:
    start = threading.Barrier(THREADS)

    def visits(thread: int) -> tuple[list[str], set[int]]:
        leaks, backends = [], set()
        start.wait()
        for number, event in enumerate(islice(cycle(EVENTS), ALTERNATIONS // THREADS)):
            mine = (number + thread) % 2
            try:
                leaks += visit(pair[mine], pair[1 - mine], event)
                backends.update(query_values("SELECT pg_backend_pid()"))
            finally:
                connection.close()  # back into the pool, as at the end of each request
        return leaks, backends

    with ThreadPoolExecutor(THREADS) as threads:
        results = list(threads.map(visits, range(THREADS)))
    assert [leak for leaks, _ in results for leak in leaks] == []
    shared = set.union(*(backends for _, backends in results))
    assert len(shared) <= POOL["max_size"]


def test_pooled_connection_closed_in_a_transaction_is_reset(
    pooled: None, pair: tuple[UUID, UUID]
) -> None:
    for mine in islice(cycle(pair), 20):
        assert visible_accounts() == set()
        connection.set_autocommit(False)
        query_values(f"SELECT set_config('app.account_id', '{mine}', true)")
        assert visible_accounts() == {mine}
        connection.close()


def test_nothing_leaks_through_the_worker(
    pair: tuple[UUID, UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker alternates accounts on one connection, whatever the previous job raised."""
    monkeypatch.setattr(registry, "_subscriptions", {})
    paused_until.clear()
    visited: list[UUID] = []
    leaks: list[str] = []
    events = cycle(EVENTS)

    @register_handler(TOPIC)
    def look(jobs: Sequence[Job]) -> None:
        [job] = jobs
        visited.append(job.account_id)
        event = next(events)
        [other] = set(pair) - {job.account_id}
        leaks.extend(visit(job.account_id, other, event))
        with acting(job.account_id):
            event(other)  # the worker handles the error

    for account_id in islice(cycle(pair), 2 * JOBS):
        with acting(account_id):
            publish(account_id, TOPIC, [NewJob(job_key=f"{uuid4()}:1", payload={})])
    while len(visited) < 2 * JOBS:
        assert deliver_due("default", seconds=300)
    assert leaks == []
    assert visible_accounts() == set()
    in_turn = sum(one != next_one for one, next_one in pairwise(visited))
    assert in_turn >= JOBS
