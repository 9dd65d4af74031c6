"""Concurrent writes, and writes that are rolled back."""

import json
import random
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from http.client import HTTPConnection
from typing import Any
from uuid import uuid4

import pytest
from django.db import IntegrityError, connection
from django.db.models import Model

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, ApiKey
from kmapp.ledger.models import Commit
from kmapp.outbox.models import Delivery, OutboxEvent
from kmapp.outbox.publish import NewJob, publish
from memory.actions.write_entries import write_batch
from memory.models import MemoryEdge, MemoryEntry
from memory.models.entry_input import Batch, NewEntry
from tests import makers

pytestmark = pytest.mark.usefixtures("module_commits")
RACERS = 20
FAILURES = 100
CONFLICT = (409, "client_id_conflict")
TABLES: tuple[type[Any], ...] = (OutboxEvent, Delivery, MemoryEntry, MemoryEdge, Commit)


@pytest.fixture
def wake_calls(monkeypatch: pytest.MonkeyPatch) -> list[set[str]]:
    """The queues of each wake-up of a worker."""
    times: list[set[str]] = []
    monkeypatch.setattr("kmapp.outbox.publish.wake", times.append)
    return times


def counts(account: Account) -> dict[type[Model], int]:
    with acting(account):
        return {table: table.objects.count() for table in TABLES}


def race(base: str, secret: str, texts: Sequence[str]) -> list[tuple[int, Any]]:
    """Write one client id with all of these texts at once."""
    return race_batches(
        base, secret, [[{"client_id": "c1", "text": text, "user_id": "u"}] for text in texts]
    )


def race_batches(
    base: str, secret: str, batches: Sequence[Sequence[dict[str, str]]]
) -> list[tuple[int, Any]]:
    """Write all batches at once, each over its own connection."""
    start = threading.Barrier(len(batches))

    def post(nodes: Sequence[dict[str, str]]) -> tuple[int, Any]:
        body = json.dumps({"nodes": nodes})
        headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
        with closing(HTTPConnection(base.removeprefix("http://"), timeout=60)) as line:
            line.connect()
            start.wait()
            line.request("POST", "/v1/memory/write", body, headers)
            answer = line.getresponse()
            return answer.status, json.load(answer)

    with ThreadPoolExecutor(len(batches)) as racers:
        return list(racers.map(post, batches))


@pytest.mark.promise(3)
def test_concurrent_writes_create_one_entry(
    site: str, acme: Account, key: tuple[ApiKey, str]
) -> None:
    before = counts(acme)
    answers = race(site, key[1], ["Lin likes oolong tea."] * RACERS)
    assert sorted(status for status, _ in answers) == [200] * (RACERS - 1) + [201]
    assert len({body["nodes"][0]["id"] for _, body in answers}) == 1
    assert len({body["commit_hash"] for _, body in answers}) == 1
    after = counts(acme)
    assert (after[MemoryEntry], after[Commit]) == (1, before[Commit] + 1)

    others = race(site, key[1], ["Lin likes coffee."] * RACERS)
    assert [(status, body["error"]) for status, body in others] == [CONFLICT] * RACERS
    assert counts(acme) == after


@pytest.mark.promise(3)
def test_concurrent_writes_have_one_winner(
    site: str, acme: Account, key: tuple[ApiKey, str]
) -> None:
    answers = race(site, key[1], [f"Guess {racer}." for racer in range(RACERS)])
    statuses = [status for status, _ in answers]
    assert sorted(statuses) == [201] + [409] * (RACERS - 1)
    assert makers.get(MemoryEntry, acme).content == f"Guess {statuses.index(201)}."


@pytest.mark.promise(3)
def test_concurrent_batches_share_entries(
    site: str, acme: Account, key: tuple[ApiKey, str]
) -> None:
    """Twenty overlapping batches in random order: no deadlock and no refusal."""
    nodes = [{"text": f"Note {n}.", "client_id": f"n{n}", "user_id": "u"} for n in range(12)]
    order = random.Random(7)  # noqa: S311 - repeatable
    batches = [order.sample(nodes, order.choice([6, 12])) for _racer in range(RACERS)]
    answers = race_batches(site, key[1], batches)
    assert {status for status, _ in answers} <= {200, 201}
    content = {(node["client_id"], node["id"]) for _, body in answers for node in body["nodes"]}
    assert len(content) == len(nodes)
    assert counts(acme)[MemoryEntry] == len(nodes)


class Failed(Exception):
    """An error after the write."""


def write_and_enqueue(account: Account, number: int) -> None:
    """Write an entry and enqueue a job."""
    batch = Batch(entries=[NewEntry(text=f"Note {number}.", client_id=f"c{number}")])
    written = write_batch(account_id=account.pk, actor=SYSTEM, batch=batch)
    assert written.commit is not None
    assert written.embedding_events
    publish(account.pk, "test.rolled_back", [NewJob(job_key=f"{number}:1", payload={})])


def fails_outside(account: Account, number: int) -> None:
    with acting(account):
        write_and_enqueue(account, number)
        raise Failed


def fails_inside(account: Account, number: int) -> None:
    """Roll back the savepoint and commit the transaction around it."""
    with acting(account):
        try:
            with acting(account):
                write_and_enqueue(account, number)
                raise Failed
        except Failed:
            assert MemoryEntry.objects.of(account).count() == 0
    raise Failed


def fails_at_commit(account: Account, number: int) -> None:
    """Violate a deferred foreign key."""
    with acting(account):
        write_and_enqueue(account, number)
        entry = MemoryEntry.objects.of(account).get()
        edge = MemoryEdge(account_id=account.pk, src=entry, dst_id=uuid4(), type="related_to")
        edge.origin, edge.created_at = MemoryEdge.Origin.DERIVED, entry.created_at
        edge.save(force_insert=True)


@pytest.mark.promise(5)
@pytest.mark.parametrize(
    ("fail", "error"),
    [(fails_outside, Failed), (fails_inside, Failed), (fails_at_commit, IntegrityError)],
)
def test_rolled_back_writes_enqueue_nothing(
    acme: Account,
    wake_calls: list[set[str]],
    fail: Callable[[Account, int], None],
    error: type[Exception],
) -> None:
    before = counts(acme)
    wake_calls.clear()
    for number in range(FAILURES):
        with pytest.raises(error):
            fail(acme, number)
        assert not connection.in_atomic_block
    assert counts(acme) == before
    assert wake_calls == []
    # The same work creates these rows and wakes the workers if it is not rolled back.
    with acting(acme):
        write_and_enqueue(acme, 1)
    after = counts(acme)
    assert after[MemoryEntry] == 1
    assert after[Commit] == before[Commit] + 1
    assert after[OutboxEvent] > before[OutboxEvent]
    assert {"embedding"} in wake_calls
