"""Accounts take turns on a connection; whatever breaks, none sees another (reliability 24)."""

import random
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
from django.db import DatabaseError, connection, connections
from psycopg.errors import QueryCanceled

from kmapp.accounts.acting import acting, current_account_id
from kmapp.accounts.models import Account, ApiKey
from kmapp.ids import uuid7
from kmapp.outbox import registry
from kmapp.outbox.actions import Task, publish, resting
from kmapp.outbox.registry import Job, on
from kmapp.outbox.tasks import deliver
from tests import makers

ALTERNATIONS = 1_000


class Broken(Exception):
    """What goes wrong between."""


def in_sight() -> set[UUID]:
    """Whose rows can be seen now, asked without any filter."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT DISTINCT account_id FROM ledger_commit")
        return {row[0] for row in cursor.fetchall()}


def nothing_goes_wrong() -> None:
    pass


def an_exception() -> None:
    raise Broken


def a_refused_statement() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 1 / 0")


def a_cancelled_statement() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 1")
        cursor.execute("SELECT pg_sleep(10)")


def a_nested_account_that_fails() -> None:
    with acting(uuid7()):
        assert in_sight() == set()
        raise Broken


def a_nested_account_that_ends() -> None:
    with acting(uuid7()):
        assert in_sight() == set()


def a_lost_connection() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")


MISHAPS = (
    *(nothing_goes_wrong, an_exception, a_refused_statement, a_cancelled_statement),
    *(a_nested_account_that_fails, a_nested_account_that_ends, a_lost_connection),
)


def alternate(accounts: Sequence[Account], mishaps: Sequence[Callable[[], None]], seed: int) -> int:
    """Act for the accounts in turn. Returns how often rows were seen that should not be."""
    choose, leaks = random.Random(seed), 0  # noqa: S311 - repeatable
    for turn in range(ALTERNATIONS):
        account = accounts[turn % len(accounts)]
        mishap = choose.choice(mishaps)
        try:
            with acting(account):
                leaks += in_sight() != {account.pk}
                mishap()
                leaks += in_sight() != {account.pk}
        except (Broken, DatabaseError):
            pass
        connection.close_if_unusable_or_obsolete()
        leaks += in_sight() != set() or current_account_id() is not None
    return leaks


@pytest.fixture
def pair(committed: str) -> list[Account]:
    accounts = [makers.account("Acme"), makers.account("Rival")]
    for account in accounts:
        makers.key(account)
    return accounts


def test_a_cancelled_statement_is_one(pair: list[Account]) -> None:
    with pytest.raises(DatabaseError) as refused, acting(pair[0]):
        a_cancelled_statement()
    assert isinstance(refused.value.__cause__, QueryCanceled)


def test_nothing_leaks_on_one_connection(pair: list[Account]) -> None:
    assert alternate(pair, MISHAPS[:-1], seed=1) == 0


def test_nothing_leaks_when_the_connection_is_lost(pair: list[Account]) -> None:
    assert alternate(pair, MISHAPS, seed=2) == 0


@pytest.fixture
def pooled(committed: str) -> Iterator[None]:
    """Two connections for everybody, as the product has eight."""
    options = connection.settings_dict["OPTIONS"]
    connection.close()
    options["pool"] = {"min_size": 0, "max_size": 2, "timeout": 30}
    try:
        yield
    finally:
        connection.close_pool()  # type: ignore[attr-defined]  # of PostgreSQL's
        del options["pool"]


def test_nothing_leaks_through_the_pool(pair: list[Account], pooled: None) -> None:
    """Four threads share two connections."""

    def turn(seed: int) -> int:
        try:
            return alternate(pair if seed % 2 else pair[::-1], MISHAPS, seed)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(turn, range(4))) == [0] * 4


@pytest.fixture
def only_ours(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(registry, "_subscriptions", {})
    yield
    resting.clear()


def test_nothing_leaks_through_tasks(pair: list[Account], only_ours: None) -> None:
    """A worker's tasks, one after the other on its connection; every third job fails."""
    seen: list[tuple[UUID, set[UUID], set[UUID]]] = []

    @on("test.leak")
    def look(jobs: Sequence[Job]) -> None:
        outside = in_sight()
        with acting(jobs[0].account_id):
            seen.append((jobs[0].account_id, in_sight(), outside))
            if len(seen) % 3 == 0:
                raise Broken

    for turn in range(ALTERNATIONS // 10):
        account = pair[turn % 2]
        with acting(account):
            publish(account.pk, "test.leak", [Task(job_key=f"{turn}:1", payload={})])
        deliver.apply(("default",)).get()
    assert len(seen) == ALTERNATIONS // 10
    assert {account for account, *_ in seen} == {account.pk for account in pair}
    assert [each for each in seen if each[1] != {each[0]} or each[2]] == []


def test_a_setting_of_the_session_would_leak(pair: list[Account]) -> None:
    """What `acting` must never do: this is how the others would notice."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT set_config('app.account_id', %s, false)", [str(pair[0].pk)])
    assert in_sight() == {pair[0].pk}
    connection.close()
    assert in_sight() == set()


def test_a_key_of_another_account_is_never_seen(pair: list[Account]) -> None:
    acme, rival = pair
    with acting(acme):
        own = ApiKey.objects.get()
        with acting(rival):
            assert not ApiKey.objects.filter(pk=own.pk).exists()
        assert ApiKey.objects.filter(pk=own.pk).exists()
