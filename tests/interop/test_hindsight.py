"""The memory bank API of Hindsight, with its client and its published tests."""

import json
import threading
import time
from collections.abc import Iterator

import pytest
from django.db import connections
from django.test import Client
from django.utils.timezone import now
from pytest_django import Settings

from kmapp.accounts.models import Account
from kmapp.outbox.actions import deliver_due
from kmapp.outbox.models import Delivery
from kmapp.outbox.registry import QUEUES
from memory.actions.enqueue import EMBED
from tests.fake_provider import FakeProvider
from tests.interop.conftest import Run
from tests.makers import settle, update
from tests.memory.chat_model import configure_chat

ANSWER = {"recommendation": "Python", "reasons": ["It is well suited."], "confidence": None}


@pytest.fixture
def worker(committed: str) -> Iterator[None]:
    """Run due jobs, as a worker does."""
    stopped = threading.Event()

    def work() -> None:
        while not stopped.is_set():
            if not any(deliver_due(queue) for queue in QUEUES):
                time.sleep(0.2)
        connections.close_all()

    thread = threading.Thread(target=work)
    thread.start()
    yield
    stopped.set()
    thread.join()


@pytest.fixture
def chat(settings: Settings, provider: FakeProvider) -> FakeProvider:
    """Configure a chat model whose answers fit the schema of the published tests."""
    configure_chat(settings, provider)
    provider.behaviour.reply = json.dumps(ANSWER)
    return provider


def test_published_tests(run_suite: Run, chat: FakeProvider, worker: None) -> None:
    """tests/test_main_operations.py of hindsight-client's source distribution."""
    report = run_suite("hindsight-client")
    assert "37 passed" in report, report[-3000:]
    assert "error" not in report.splitlines()[-1]


def test_a_retain_is_an_operation_until_it_is_embedded(agent: Client, acme: Account) -> None:
    bank = "/v1/default/banks/b"

    def listed(query: str = "") -> list[tuple[str, int]]:
        answer = agent.get(f"{bank}/operations{query}").json()
        assert answer["total"] == len(answer["operations"])
        return [(each["status"], each["items_count"]) for each in answer["operations"]]

    items = {"items": [{"content": "Tea."}, {"content": "Coffee."}], "async": True}
    retained = agent.post(f"{bank}/memories", items, "application/json").json()
    assert listed() == listed("?status=pending&type=retain") == [("pending", 2)]
    assert agent.get(f"{bank}/stats").json()["pending_operations"] == 1
    settle()
    assert listed() == listed("?status=completed") == [("completed", 2)]
    assert listed("?status=pending") == listed("?status=failed") == listed("?type=x") == []
    one = agent.get(f"{bank}/operations/{retained['operation_id']}").json()
    assert (one["operation_id"], one["status"]) == (retained["operation_id"], "completed")
    assert agent.get(f"{bank}/operations/{acme.pk}").status_code == 404
    update(Delivery, acme, {"event__topic": EMBED}, done_at=None, failed_at=now())
    assert listed("?status=failed") == [("failed", 2)]
    assert agent.get(f"{bank}/stats").json()["failed_operations"] == 1
