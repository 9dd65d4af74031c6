"""The endpoint that reports the state of background jobs."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.test import Client

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.outbox import job_result_registry, registry
from kmapp.outbox.deliver import deliver_due
from kmapp.outbox.job_result_registry import JobOutcome
from kmapp.outbox.models import Delivery
from kmapp.outbox.publish import NewJob, publish
from kmapp.outbox.registry import Job, JobErrors, RetryLater
from tests import makers

TOPIC = "tests.events"
HandlerErrors = dict[str, Exception | None]


@pytest.fixture
def errors(monkeypatch: pytest.MonkeyPatch) -> HandlerErrors:
    """Register two handlers of one topic; return the error that each raises."""
    monkeypatch.setattr(registry, "_subscriptions", {})
    monkeypatch.setattr(job_result_registry, "_result_functions", {})
    errors: HandlerErrors = {"first": None, "second": None}

    def handler(name: str) -> registry.Handler:
        def run(jobs: Sequence[Job]) -> JobErrors | None:
            if error := errors[name]:
                raise error
            return None

        run.__qualname__ = name
        return run

    for name in errors:
        registry.register_handler(TOPIC)(handler(name))
    return errors


@pytest.fixture
def event(acme: Account, errors: HandlerErrors) -> UUID:
    with acting(acme):
        return publish(acme.pk, TOPIC, [NewJob(job_key="a:1", payload={})])["a:1"]


def test_event_is_pending_until_delivered(agent: Client, event: UUID) -> None:
    pending = agent.get(f"/v1/events/{event}").json()
    assert (pending["state"], pending["attempts"]) == ("PENDING", 0)
    deliver_due("default")
    done = agent.get(f"/v1/events/{event}").json()
    assert (done["state"], done["attempts"], done["last_error"]) == ("SUCCEEDED", 1, None)
    assert [each["state"] for each in done["deliveries"]] == ["SUCCEEDED", "SUCCEEDED"]


def test_failing_handler_is_reported_separately(
    agent: Client, event: UUID, errors: HandlerErrors
) -> None:
    errors["second"] = ValueError("no")
    deliver_due("default")
    body = agent.get(f"/v1/events/{event}").json()
    assert (body["state"], body["last_error"]) == ("PENDING", "ValueError: no")
    states = {each["handler"].rpartition(".")[2]: each["state"] for each in body["deliveries"]}
    assert states == {"first": "SUCCEEDED", "second": "PENDING"}


def test_event_fails_after_the_last_attempt(
    agent: Client, event: UUID, errors: HandlerErrors, settings: Any
) -> None:
    settings.OUTBOX_MAX_ATTEMPTS = 1
    errors["second"] = ValueError("no")
    deliver_due("default")
    assert agent.get(f"/v1/events/{event}").json()["state"] == "FAILED"


def test_postponed_event_reports_its_reason(
    agent: Client, event: UUID, errors: HandlerErrors
) -> None:
    errors["first"] = errors["second"] = RetryLater("no_chat_model")
    deliver_due("default")
    body = agent.get(f"/v1/events/{event}").json()
    assert (body["state"], body["reason"], body["attempts"]) == ("PENDING", "no_chat_model", 0)


def test_leased_event_is_running(agent: Client, acme: Account, event: UUID) -> None:
    with acting(acme):
        Delivery.objects.of(acme).filter(event_id=event).update(lease_token=uuid4())
    assert agent.get(f"/v1/events/{event}").json()["state"] == "RUNNING"


@pytest.fixture
def knowledge_event(acme: Account, errors: HandlerErrors) -> UUID:
    topic = "knowledge.document.read"
    job_result_registry.register_result_function(topic)(
        lambda *_: JobOutcome(result={"text": "Tea."})
    )
    registry.register_handler(topic)(lambda jobs: None)
    with acting(acme):
        return publish(acme.pk, topic, [NewJob(job_key="a:1", payload={})])["a:1"]


def test_event_is_visible_to_keys_of_its_area(acme: Account, knowledge_event: UUID) -> None:
    path = f"events/{knowledge_event}"
    for scope, result in (
        ("memory:read", {"text": "Tea."}),
        ("knowledge:read", {"text": "Tea."}),
        ("knowledge:write", None),
    ):
        event = makers.agent(acme, [scope]).get(path, 200)
        assert (event["state"], event["result"]) == ("PENDING", result), scope
    makers.update(Delivery, acme, {}, last_error="ValueError: Tea.")
    for scope, error in (
        ("knowledge:read", "ValueError: Tea."),
        ("knowledge:write", "ValueError"),  # the message may quote a text
    ):
        event = makers.agent(acme, [scope]).get(path, 200)
        [delivery] = event["deliveries"]
        assert (event["last_error"], delivery["last_error"]) == (error, error), scope
    for scope in ("memory:write", "context:read", "debug"):
        assert makers.agent(acme, [scope]).get(path, 403)["error"] == "missing_scope", scope
