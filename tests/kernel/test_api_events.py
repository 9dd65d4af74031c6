"""Work that was left to others: anyone whose it is may ask how far it is."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.test import Client

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.outbox import registry
from kmapp.outbox.actions import Task, deliver_due, publish
from kmapp.outbox.models import Delivery
from kmapp.outbox.registry import Job, JobErrors, RetryLater
from tests import makers

TOPIC = "tests.events"
Moods = dict[str, Exception | None]


@pytest.fixture
def moods(monkeypatch: pytest.MonkeyPatch) -> Moods:
    """Two handlers of one topic, and what each raises."""
    monkeypatch.setattr(registry, "_subscriptions", {})
    moods: Moods = {"glad": None, "sad": None}

    def handler(name: str) -> registry.Handler:
        def run(jobs: Sequence[Job]) -> JobErrors | None:
            if error := moods[name]:
                raise error
            return None

        run.__qualname__ = name
        return run

    for name in moods:
        registry.on(TOPIC)(handler(name))
    return moods


@pytest.fixture
def event(acme: Account, moods: Moods) -> UUID:
    with acting(acme):
        return publish(acme.pk, TOPIC, [Task(job_key="a:1", payload={})])["a:1"]


def test_work_waits_and_is_done(agent: Client, event: UUID) -> None:
    waiting = agent.get(f"/v1/events/{event}").json()
    assert (waiting["state"], waiting["attempts"]) == ("PENDING", 0)
    deliver_due("default")
    done = agent.get(f"/v1/events/{event}").json()
    assert (done["state"], done["attempts"], done["last_error"]) == ("SUCCEEDED", 1, None)
    assert [each["state"] for each in done["deliveries"]] == ["SUCCEEDED", "SUCCEEDED"]


def test_one_handler_that_fails_is_told_apart(agent: Client, event: UUID, moods: Moods) -> None:
    moods["sad"] = ValueError("no")
    deliver_due("default")
    told = agent.get(f"/v1/events/{event}").json()
    assert (told["state"], told["last_error"]) == ("PENDING", "ValueError: no")
    states = {each["handler"].rpartition(".")[2]: each["state"] for each in told["deliveries"]}
    assert states == {"glad": "SUCCEEDED", "sad": "PENDING"}


def test_work_given_up_has_failed(agent: Client, event: UUID, moods: Moods, settings: Any) -> None:
    settings.OUTBOX_MAX_ATTEMPTS = 1
    moods["sad"] = ValueError("no")
    deliver_due("default")
    assert agent.get(f"/v1/events/{event}").json()["state"] == "FAILED"


def test_work_that_cannot_start_says_what_it_waits_for(
    agent: Client, event: UUID, moods: Moods
) -> None:
    moods["glad"] = moods["sad"] = RetryLater("no_chat_model")
    deliver_due("default")
    told = agent.get(f"/v1/events/{event}").json()
    assert (told["state"], told["reason"], told["attempts"]) == ("PENDING", "no_chat_model", 0)


def test_leased_work_is_running(agent: Client, acme: Account, event: UUID) -> None:
    with acting(acme):
        Delivery.objects.of(acme).filter(event_id=event).update(lease_token=uuid4())
    assert agent.get(f"/v1/events/{event}").json()["state"] == "RUNNING"


def test_nobody_hears_of_others_work(client: Client, rival: Account, event: UUID) -> None:
    theirs = {"X-Api-Key": makers.key(rival)[1]}
    for unknown in (event, uuid4()):
        answer = client.get(f"/v1/events/{unknown}", headers=theirs)
        assert (answer.status_code, answer.json()["error"]) == (404, "not_found")
