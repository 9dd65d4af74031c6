"""Webhooks: signed reports of changes, sent by the outbox to addresses that the operator allows."""

import hmac
from base64 import b64decode, b64encode
from collections.abc import Iterator
from datetime import timedelta
from hashlib import sha256
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.ledger.models import Commit
from kmapp.notifications.webhooks.models import Webhook
from kmapp.outbox.deliver import deliver_due
from kmapp.outbox.models import Delivery
from tests import makers
from tests.agent import Agent
from tests.webhook_receiver import Receiver, receive_webhooks

pytestmark = pytest.mark.django_db
ALL = ["memory.added", "memory.updated", "memory.deleted", "memory.proposed"]


@pytest.fixture
def agent(acme: Account) -> Agent:
    return makers.agent(acme)


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    with receive_webhooks() as receiver:
        settings.WEBHOOK_PRIVATE = [receiver.netloc]
        yield receiver


def create(agent: Agent, url: str, **more: Any) -> dict[str, Any]:
    body = {"name": "Automation", "url": url, "event_types": ALL, **more}
    answer: dict[str, Any] = agent.post("webhooks", body, 201)
    return answer


def test_reports_what_changes_for_those_who_recall(
    agent: Agent, acme: Account, receiver: Receiver
) -> None:
    create(agent, receiver.url)
    stored = agent.post("memory/store", {"text": "Ann likes tea.", "user_id": "ann"}, 201)
    agent.post("memory/update", {"id": stored["id"], "text": "Ann likes oolong."}, 200)
    agent.post("memory/feedback", {"id": stored["id"], "outcome": "positive"}, 201)
    agent.post("memory/forget", {"id": stored["id"]}, 200)
    agent.post("memory/store", {"text": "Tea is at four.", "visibility": "account"}, 201)
    makers.settle()
    assert receiver.types() == [*ALL[:3], "memory.proposed"]
    data = receiver.bodies()[1]["data"]
    assert data["id"] == stored["id"]
    assert (data["text"], data["user_id"], data["version"]) == ("Ann likes oolong.", "ann", 2)


def test_reports_an_erased_memory_by_its_id_only(
    agent: Agent, acme: Account, receiver: Receiver
) -> None:
    create(agent, receiver.url, event_types=["memory.deleted"])
    [entry] = makers.write(acme, "Ann likes tea.", user_id="ann", visibility="user")
    counted = agent.post("memory/erase", {"id": str(entry.pk)}, 200)
    agent.post("memory/erase", {"id": str(entry.pk), "confirm_token": counted["confirm_token"]})
    makers.settle()
    assert [each["data"] for each in receiver.bodies()] == [{"id": str(entry.pk), "text": None}]


def test_requests_are_signed_as_standard_webhooks_are(agent: Agent, receiver: Receiver) -> None:
    secret = create(agent, receiver.url)["secret"]
    agent.post("memory/store", {"text": "Ann likes tea.", "user_id": "ann"}, 201)
    makers.settle()
    [(headers, body)] = receiver.requests
    content = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    key = b64decode(secret.removeprefix("whsec_"))
    signature = b64encode(hmac.digest(key, content, sha256)).decode()
    assert headers["webhook-signature"] == f"v1,{signature}"
    assert headers["Content-Type"] == "application/json"


def test_a_failed_request_is_repeated_with_the_same_id(
    agent: Agent, acme: Account, receiver: Receiver
) -> None:
    created = create(agent, receiver.url)
    receiver.status = 302  # redirects are not followed
    agent.post("memory/store", {"text": "Ann likes tea.", "user_id": "ann"}, 201)
    agent.post("memory/store", {"text": "Bob likes coffee.", "user_id": "bob"}, 201)
    deliver_due("default")
    assert len(receiver.requests) == 1, "the receiver that failed is left in peace"
    webhook = agent.get(f"webhooks/{created['id']}")
    assert webhook["last_error"] == "The receiver returned HTTP status 302."
    receiver.status = 200
    with acting(acme):
        past = timezone.now() - timedelta(minutes=2)
        Webhook.objects.of(acme.pk).update(last_attempt_at=past)
        Delivery.objects.of(acme.pk).open().update(due_at=past)
    deliver_due("default")
    ids = [headers["webhook-id"] for headers, _ in receiver.requests]
    assert len(ids) == 3
    assert len(set(ids)) == 2
    assert agent.get(f"webhooks/{created['id']}")["last_error"] is None


def test_only_active_webhooks_that_subscribed_receive(
    agent: Agent, receiver: Receiver, rival: Account
) -> None:
    create(makers.agent(rival), receiver.url)
    create(agent, receiver.url, event_types=["memory.deleted"])
    first = create(agent, receiver.url)
    agent.patch(f"webhooks/{first['id']}", {"is_active": False}, 200)
    second = create(agent, receiver.url)
    agent.post("memory/store", {"text": "Ann likes tea.", "user_id": "ann"}, 201)
    agent.delete(f"webhooks/{second['id']}", 200)
    makers.settle()
    assert receiver.requests == []
    assert len(agent.get("webhooks")["results"]) == 2


def test_refuses_addresses_that_the_operator_does_not_allow_and_unknown_values(
    agent: Agent, acme: Account, receiver: Receiver
) -> None:
    valid = {"name": "n", "url": receiver.url, "event_types": ALL}
    invalid: dict[str, list[Any]] = {
        "url": [
            *("http://hooks.test/", "https://other.test/", "https://hooks.test:8443/"),
            *("https://user:pass@hooks.test/", "ftp://hooks.test/", "nothing"),
            f"https://hooks.test/{'茶' * 500}",
        ],
        "event_types": [["memory.sung"], []],
        "payload_format": ["xml"],
    }
    for name, values in invalid.items():
        for value in values:
            answer = agent.post("webhooks", {**valid, name: value}, 400)
            assert answer["error"] == "invalid_request", value
            assert answer["issues"][0]["path"].split(".")[0] == name, value
    makers.agent(acme, ["memory:read", "memory:write"]).get("webhooks", 403)


def test_a_name_with_a_private_address_gets_no_request(
    agent: Agent, acme: Account, settings: Settings
) -> None:
    settings.WEBHOOK_HOSTS = ["*"]
    created = create(agent, "https://localhost/")
    agent.post("memory/store", {"text": "Ann likes tea.", "user_id": "ann"}, 201)
    deliver_due("default")
    assert "no public IP address" in agent.get(f"webhooks/{created['id']}")["last_error"]
    with acting(acme):
        dead = Delivery.objects.of(acme.pk).dead().get(handler="kmapp.webhooks.send")
    assert dead.attempts == 1


def test_webhooks_are_off_until_the_operator_allows_a_host(
    agent: Agent, settings: Settings
) -> None:
    settings.WEBHOOK_HOSTS = []
    body = {"name": "n", "url": "https://hooks.test/", "event_types": ALL}
    assert agent.post("webhooks", body, 403)["error"] == "webhooks_off"


def test_changes_are_recorded_and_the_secret_is_shown_once(
    agent: Agent, acme: Account, receiver: Receiver
) -> None:
    created = create(agent, receiver.url)
    path = f"webhooks/{created['id']}"
    assert "secret" not in agent.get(path)
    body = {"name": "Retried", "url": receiver.url, "event_types": ALL}
    first, again = (agent.post("webhooks", body, 201, **{"Idempotency-Key": "k"}) for _ in "ab")
    assert first.pop("secret")
    assert again == first, "a stored response has no secret"
    assert agent.patch(path, {"name": "Tickets"}, 200)["name"] == "Tickets"
    agent.delete(path, 200)
    agent.get(path, 404)
    with acting(acme):
        ops = [
            change["op"]
            for diff in Commit.objects.of(acme.pk).order_by("seq").values_list("diff", flat=True)
            for change in diff
            if change["object"] == f"webhooks.webhook:{created['id']}"
        ]
    assert ops == ["ADD", "UPDATE", "ERASE"]
