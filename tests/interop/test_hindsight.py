"""The memory bank API of Hindsight, with its client and its published tests."""

import json
import threading
import time
from collections.abc import Iterator

import pytest
from django.db import connections
from pytest_django import Settings

from kmapp.outbox.actions import deliver_due
from kmapp.outbox.registry import QUEUES
from tests.fake_provider import FakeProvider
from tests.interop.conftest import Run
from tests.memory.chat_model import configure_chat

ANSWER = {"recommendation": "Python", "reasons": ["It is well suited."], "confidence": None}


@pytest.fixture
def worker(committed: str) -> Iterator[None]:
    """Run due jobs, as a worker does."""
    stopped = threading.Event()

    def work() -> None:
        while not stopped.is_set():
            if not any(deliver_due(queue) for queue in QUEUES):
                time.sleep(0.05)
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
