"""What is rolled back owes nothing and wakes nobody (reliability 5)."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
from celery.signals import before_task_publish

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.outbox.models import Delivery, OutboxEvent
from kmapp.search.models import TermPosting, Vector
from memory.actions.entries import write
from memory.drafts import Batch, NewEntry
from memory.models import MemoryEntry

TRANSACTIONS = 100


class Changed(Exception):
    """Their minds."""


@pytest.fixture
def messages() -> Iterator[list[str]]:
    """The queues of all messages that are handed to Celery."""
    sent: list[str] = []

    def note(routing_key: str = "", **_more: Any) -> None:
        sent.append(routing_key)

    before_task_publish.connect(note)
    yield sent
    before_task_publish.disconnect(note)


def remember(account: Account, number: int) -> None:
    drafts = [NewEntry(text=f"Thing {number}.", user_id="u", run_id="r")]
    write(account_id=account.pk, actor=SYSTEM, batch=Batch(entries=drafts))


def remember_and_change(account: Account, number: int) -> None:
    with acting(account):
        remember(account, number)
        assert OutboxEvent.objects.of(account).count() == 2, "to embed, and to put in order"
        raise Changed


def test_a_hundred_rolled_back_writes_leave_nothing(
    committed: str, acme: Account, messages: list[str]
) -> None:
    for number in range(TRANSACTIONS):
        with pytest.raises(Changed):
            remember_and_change(acme, number)
    with acting(acme):
        for rows in (OutboxEvent, Delivery, MemoryEntry, TermPosting, Vector):
            assert not rows.objects.of(acme).exists(), rows
    time.sleep(0.5)
    assert messages == []
    with acting(acme):
        remember(acme, TRANSACTIONS)
    deadline = time.monotonic() + 10
    while set(messages) != {"embedding", "default"}:
        assert time.monotonic() < deadline, messages
        time.sleep(0.05)
