"""Whoever comes next on a connection sees nothing of who was there before."""

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
from kmapp.outbox.actions import Task, deliver_due, publish, resting
from kmapp.outbox.registry import Job, on
from tests import makers
from tests.promises.plugin import Measured

pytestmark = pytest.mark.promise(24)

ALTERNATIONS = 1_000
THREADS = 4
POOL = {"min_size": 0, "max_size": 2, "timeout": 60}
JOBS = 100  # of each account
TOPIC = "test.leaks"
SEEN = """
SELECT account_id FROM ledger_commit UNION SELECT account_id FROM accounts_apikey
UNION SELECT id FROM accounts_account
UNION SELECT nullif(current_setting('app.account_id', true), '')::uuid
"""


class Failed(Exception):
    """Whatever a request may end in."""


def ask(statement: str) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return [row[0] for row in cursor.fetchall()]


def seen() -> set[UUID]:
    """Whose rows, and whose name, this connection has before it."""
    return set(ask(SEEN)) - {None} | {each for each in [current_account_id()] if each}


def goes_well(_other: UUID) -> None:
    """Nothing happens."""


def fails(_other: UUID) -> None:
    raise Failed


def looks_elsewhere(other: UUID) -> None:
    with acting(other):
        assert seen() == {other}


def fails_elsewhere(other: UUID) -> None:
    """And goes on where it was."""
    with pytest.raises(Failed), acting(other):
        raise Failed


def takes_too_long(_other: UUID) -> None:
    ask("SELECT set_config('statement_timeout', '2ms', true)")
    ask("SELECT pg_sleep(5)")


def is_cancelled(_other: UUID) -> None:
    ask("SELECT pg_cancel_backend(pg_backend_pid()), pg_sleep(5)")


def is_cancelled_elsewhere(other: UUID) -> None:
    """And goes on where it was."""
    with pytest.raises(Error, match="user request"), acting(other):
        is_cancelled(other)


def breaks_a_rule(_other: UUID) -> None:
    """And goes on."""
    with pytest.raises(Error, match="division by zero"), transaction.atomic():
        ask("SELECT 1 / 0")


def fails_after_a_failure(other: UUID) -> None:
    fails_elsewhere(other)
    raise Failed


TURNS: list[Callable[[UUID], None]] = [
    goes_well,
    fails,
    looks_elsewhere,
    fails_elsewhere,
    takes_too_long,
    is_cancelled,
    is_cancelled_elsewhere,
    breaks_a_rule,
    fails_after_a_failure,
]


def visit(mine: UUID, other: UUID, turn: Callable[[UUID], None]) -> list[str]:
    """One visit as one account; gives what it saw that is not its own."""
    leaks = [f"before {turn}"] if seen() else []
    try:
        with acting(mine):
            leaks += [f"at the start of {turn}"] if seen() != {mine} else []
            turn(other)
            leaks += [f"after {turn}"] if seen() != {mine} else []
    except (Failed, Error):
        pass  # as a request that fails: the next one is what counts
    return leaks + ([f"behind {turn}"] if seen() else [])


def alternate(pair: tuple[UUID, UUID], times: int) -> list[str]:
    """Both in turn, each time with another turn of events."""
    leaks = []
    for number, turn in enumerate(islice(cycle(TURNS), times)):
        leaks += visit(pair[number % 2], pair[1 - number % 2], turn)
    return leaks


@pytest.fixture
def pair(committed: str, acme: Account, rival: Account) -> tuple[UUID, UUID]:
    for account in (acme, rival):
        makers.key(account)
    return acme.pk, rival.pk


def test_the_turns_are_odd() -> None:
    """So each of them happens to either account."""
    assert len(TURNS) % 2


def test_the_turns_that_fail_fail(pair: tuple[UUID, UUID]) -> None:
    for turn, why in ((takes_too_long, "statement timeout"), (is_cancelled, "user request")):
        with pytest.raises(Error, match=f"canceling statement due to {why}"), acting(pair[0]):
            turn(pair[1])


def test_nothing_leaks_on_one_connection(pair: tuple[UUID, UUID], measured: Measured) -> None:
    before = ask("SELECT pg_backend_pid()")
    assert alternate(pair, ALTERNATIONS) == []
    assert ask("SELECT pg_backend_pid()") == before
    measured(f"0 leaks in {ALTERNATIONS:,} turns")


@pytest.fixture
def pooled(pair: tuple[UUID, UUID]) -> Iterator[None]:
    """Connections out of a pool, as the product has them; here fewer than threads."""
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
        for number, turn in enumerate(islice(cycle(TURNS), ALTERNATIONS // THREADS)):
            mine = (number + thread) % 2
            try:
                leaks += visit(pair[mine], pair[1 - mine], turn)
                backends.update(ask("SELECT pg_backend_pid()"))
            finally:
                connection.close()  # back into the pool, as at the end of each request
        return leaks, backends

    with ThreadPoolExecutor(THREADS) as threads:
        results = list(threads.map(visits, range(THREADS)))
    assert [leak for leaks, _ in results for leak in leaks] == []
    shared = set.union(*(backends for _, backends in results))
    assert len(shared) <= POOL["max_size"], "all shared the same few connections"


def test_a_pooled_connection_that_was_left_in_mid_transaction_is_clean(
    pooled: None, pair: tuple[UUID, UUID]
) -> None:
    for mine in islice(cycle(pair), 20):
        assert seen() == set()
        connection.set_autocommit(False)
        ask(f"SELECT set_config('app.account_id', '{mine}', true)")
        assert seen() == {mine}
        connection.close()


def test_nothing_leaks_through_the_worker(
    pair: tuple[UUID, UUID], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It pays both accounts in turn on one connection, whatever became of the job before."""
    monkeypatch.setattr(registry, "_subscriptions", {})
    resting.clear()
    visited: list[UUID] = []
    leaks: list[str] = []
    turns = cycle(TURNS)

    @on(TOPIC)
    def look(jobs: Sequence[Job]) -> None:
        [job] = jobs
        visited.append(job.account_id)
        turn = next(turns)
        [other] = set(pair) - {job.account_id}
        leaks.extend(visit(job.account_id, other, turn))
        with acting(job.account_id):
            turn(other)  # what it raises, the worker takes

    for account_id in islice(cycle(pair), 2 * JOBS):
        with acting(account_id):
            publish(account_id, TOPIC, [Task(job_key=f"{uuid4()}:1", payload={})])
    while len(visited) < 2 * JOBS:
        assert deliver_due("default", seconds=300)
    assert leaks == []
    assert seen() == set()
    in_turn = sum(one != next_one for one, next_one in pairwise(visited))
    assert in_turn >= JOBS
