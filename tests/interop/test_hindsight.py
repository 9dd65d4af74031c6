"""The memory bank API of Hindsight, with its client and its published tests."""

import json
import threading
import time
from collections.abc import Iterator
from copy import deepcopy
from typing import Any
from uuid import uuid4

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


def retain(agent: Client, *items: dict[str, Any], **options: Any) -> Any:
    headers = options.pop("headers", {})
    body = {"items": items, "async": True, **options}
    url = "/v1/default/banks/b/memories"
    return agent.post(url, body, "application/json", headers=headers).json()


def document_text(agent: Client, document: str = "d") -> str:
    text: str = agent.get(f"/v1/default/banks/b/documents/{document}").json()["original_text"]
    return text


def test_a_retained_document_replaces_the_earlier_one(agent: Client) -> None:
    retain(agent, {"content": "Tea.", "document_id": "d"})
    retain(agent, {"content": "Coffee.", "document_id": "d"})
    assert document_text(agent) == "Coffee."
    retain(agent, {"content": "Milk.", "document_id": "d", "update_mode": "append"})
    assert document_text(agent) == "Coffee.\nMilk."


def test_a_refused_retain_leaves_the_document(agent: Client) -> None:
    retain(agent, {"content": "Tea.", "document_id": "d"})
    refused = retain(
        agent, {"content": "x" * 50_001, "document_id": "d"}, {"content": "y", "timestamp": "soon"}
    )
    assert {issue["path"] for issue in refused["issues"]} == {
        "items.0.content",
        "items.1.timestamp",
    }
    assert document_text(agent) == "Tea."


@pytest.mark.parametrize(
    "repeated",
    [{"headers": {"Idempotency-Key": "k1"}}, {"operation_id": str(uuid4())}],
    ids=["idempotency_key", "operation_id"],
)
def test_a_repeated_retain_changes_nothing(agent: Client, repeated: dict[str, Any]) -> None:
    item = {"content": "Tea.", "document_id": "d", "timestamp": "unset"}
    first = retain(agent, item, **deepcopy(repeated))
    assert first["success"]
    assert retain(agent, item, **deepcopy(repeated)) == first
    assert document_text(agent) == "Tea."
    retain(agent, {"content": "Coffee.", "document_id": "d"})
    assert retain(agent, item, **deepcopy(repeated)) == first
    assert document_text(agent) == "Coffee."


def test_no_document_stands_for_all(agent: Client) -> None:
    retain(agent, {"content": "Tea.", "document_id": "d"})
    assert agent.delete("/v1/default/banks/b/documents/*").status_code == 400
    refused = retain(agent, {"content": "Coffee.", "document_id": "*"})
    assert refused["issues"][0]["path"] == "document_id"
    assert document_text(agent) == "Tea."


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
