"""One key buries neither memories nor reviewers."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, User
from kmapp.outbox.models import Delivery
from memory.actions.review import reject
from memory.actions.settings import update_policy
from memory.models import MemoryEntry
from memory.models.settings import DAILY_WRITES, OPEN_PROPOSALS
from tests import makers
from tests.agent import Agent
from tests.fake_provider import FakeProvider
from tests.memory.chat_model import fact, run_due_jobs, scripted_reply


def allow(account: Account, **values: Any) -> None:
    with acting(account):
        update_policy(account.pk, values, actor=SYSTEM)


def notes(number: int, **more: Any) -> dict[str, Any]:
    return {"nodes": [{"text": f"Note {n} {more}.", **more} for n in range(number)]}


def another(account: Account) -> Agent:

    return makers.agent(account)


def test_daily_writes_are_limited_per_key(agent: Agent, acme: Account) -> None:
    allow(acme, daily_writes=5)
    agent.post("memory/write", notes(4, user_id="u"), 201)
    refused = agent.post("memory/write", notes(2, user_id="v"), 429)
    assert refused["error"] == "daily_quota"
    assert refused["details"] == {"limit": 5, "written": 4}
    assert "Memory → Policy" in refused["message"]
    agent.post("memory/store", {"text": "The fifth.", "user_id": "u"}, 201)
    agent.post("memory/store", {"text": "The sixth.", "user_id": "u"}, 429)
    another(acme).post("memory/store", {"text": "Another's first.", "user_id": "u"}, 201)
    assert makers.count(MemoryEntry, acme) == 6


def test_retry_counts_once(agent: Agent, acme: Account) -> None:
    allow(acme, daily_writes=1)
    said = {"text": "Once.", "user_id": "u", "client_id": "c"}
    first = agent.post("memory/store", said, 201)
    assert agent.post("memory/store", said, 200)["id"] == first["id"]


def test_open_proposals_are_limited_per_key(agent: Agent, acme: Account) -> None:
    allow(acme, open_proposals=2)
    agent.post("memory/write", notes(2), 201)
    refused = agent.post("memory/store", {"text": "One too many."}, 409)
    assert (refused["error"], refused["details"]["waiting"]) == ("too_many_proposals", 2)
    agent.post("memory/store", {"text": "Only for u.", "user_id": "u"}, 201)
    with acting(acme):
        entry = MemoryEntry.objects.of(acme).awaiting_review().earliest("pk")
        reject(makers.decision(entry, reason="no"))
    agent.post("memory/store", {"text": "Now there is room."}, 201)


@pytest.mark.parametrize("limits", [{"open_proposals": 1}, {"daily_writes": 1}], ids=str)
def test_extraction_over_quota_waits(
    agent: Agent, acme: Account, chat: FakeProvider, limits: dict[str, int]
) -> None:
    """A conversation whose facts go beyond a quota waits an hour, not a second."""
    chat.become(reply=scripted_reply([fact("Gates close at six."), fact("Dogs stay outside.")]))
    allow(acme, **limits)
    before = timezone.now()
    handed = agent.post("memory/add", {"messages": "The gates close at six."}, 202)
    run_due_jobs()
    assert agent.get(f"events/{handed['event_id']}")["state"] == "PENDING"
    with acting(acme):
        waiting = Delivery.objects.of(acme).open().get(queue="extraction")
        assert waiting.due_at > before + timedelta(minutes=55)
        assert waiting.attempts == 0


@pytest.mark.parametrize("values", [{"daily_writes": 0}, {"open_proposals": -1}])
def test_rejects_a_quota_below_one(acme: Account, values: dict[str, int]) -> None:
    from kmapp.errors import Invalid

    with pytest.raises(Invalid, match="was not saved"):
        allow(acme, **values)


def test_keys_page_shows_usage(client: Client, ada: User, agent: Agent) -> None:
    agent.post("memory/write", notes(3), 201)
    client.force_login(ada)
    page = client.get("/keys/").content.decode()
    assert f"3 of {DAILY_WRITES:,} written today" in page
    assert f"3 of {OPEN_PROPOSALS:,} pending review" in page
    form = {"daily_writes": "10", "open_proposals": "", "reason": "enough"}
    assert (
        client.post("/policy/set/?section=quotas", {**form, "section": "quotas"}).status_code < 400
    )
    assert "3 of 10 written today" in client.get("/keys/").content.decode()
