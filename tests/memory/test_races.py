"""Twenty clients say the same at the same moment (reliability 3)."""

import random
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from django.conf import settings

from kmapp import embedded
from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, ApiKey
from kmapp.ledger.models import Commit
from memory.models import MemoryEntry, MemoryVersion
from tests.chaos.product import Answer, Product

CLIENTS = 20
ROUNDS = 5


@pytest.fixture
def server(committed: str, key: tuple[ApiKey, str]) -> Iterator[Product]:
    """A web server with room for all of them at once: two processes with twelve threads each."""
    home = Path(tempfile.mkdtemp(prefix="kmapp-races-"))
    database = embedded.database_url(settings.DATA_DIR, "app")
    database = database.replace(f"/{embedded.DATABASE}?", f"/{committed}?")
    product = Product(home, database, {"WEB_THREADS": "12"}, key=key[1])
    product.have("valkey", "web")
    yield product
    product.kill(*list(product.running))
    shutil.rmtree(home)


def at_once(product: Product, path: str, bodies: Sequence[Mapping[str, Any]]) -> list[Answer]:
    barrier = Barrier(len(bodies))

    def post(body: Mapping[str, Any]) -> Answer:
        barrier.wait(30)
        return product.post(path, body)

    with ThreadPoolExecutor(len(bodies)) as threads:
        return list(threads.map(post, bodies))


def statuses(answers: list[Answer]) -> Counter[int]:
    return Counter(answer.status for answer in answers)


def test_one_client_id_is_one_memory(server: Product, acme: Account) -> None:
    for number in range(ROUNDS):
        said = {"text": "Lin likes oolong tea.", "client_id": f"race-{number}", "user_id": "u"}
        answers = at_once(server, "memory/store", [said] * CLIENTS)
        assert statuses(answers) == {201: 1, 200: CLIENTS - 1}
        assert len({answer.body["id"] for answer in answers}) == 1
        with acting(acme):
            entry = MemoryEntry.objects.get(client_id=said["client_id"])
            assert MemoryVersion.objects.filter(entry=entry).count() == 1
        other = at_once(server, "memory/store", [{**said, "text": "No, jasmine."}] * CLIENTS)
        assert statuses(other) == {409: CLIENTS}
        assert {answer.body["error"] for answer in other} == {"client_id_conflict"}


def test_of_twenty_different_bodies_one_wins(server: Product, acme: Account) -> None:
    bodies = [{"text": f"Version {n}.", "client_id": "one", "user_id": "u"} for n in range(CLIENTS)]
    answers = at_once(server, "memory/store", bodies)
    assert statuses(answers) == {201: 1, 409: CLIENTS - 1}
    with acting(acme):
        assert MemoryEntry.objects.count() == 1


def test_batches_that_overlap_wait_for_each_other(server: Product, acme: Account) -> None:
    """Some of the same entries in twenty orders: no deadlock, no refusal, one row each."""
    nodes = [
        {"text": f"Note {n} about tea.", "client_id": f"n-{n}", "user_id": "u"} for n in range(12)
    ]
    order = random.Random(7)  # noqa: S311 - repeatable
    bodies = [{"nodes": order.sample(nodes, order.choice([6, 12]))} for _each in range(CLIENTS)]
    answers = at_once(server, "memory/write", bodies)
    assert set(statuses(answers)) <= {200, 201}
    ids = {(n["client_id"], n["id"]) for answer in answers for n in answer.body["nodes"]}
    assert len(ids) == len(nodes)
    with acting(acme):
        assert MemoryEntry.objects.count() == len(nodes)
        assert Commit.objects.count() - 2 <= CLIENTS  # beside the account's and the key's
