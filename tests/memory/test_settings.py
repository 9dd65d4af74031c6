"""Memory settings of an account, and its quotas."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, ApiKey, User
from kmapp.errors import Conflict, Invalid
from kmapp.ledger.models import Commit, Note
from kmapp.notifications.models import Notification
from kmapp.outbox.models import Delivery
from memory.actions.review import reject
from memory.actions.settings import ACCOUNT_FIELDS, MEMORY_FIELDS, update_policy
from memory.models import MemoryEntry, MemorySettings
from memory.models.settings import DAILY_WRITES, OPEN_PROPOSALS
from tests import makers
from tests.agent import Agent
from tests.fake_provider import FakeProvider
from tests.memory.chat_model import fact, run_due_jobs, scripted_reply


def status(agent: Agent, **text: Any) -> str:
    written = agent.post("memory/write", {"nodes": [{"text": "It opens at nine.", **text}]}, 201)
    return str(MemoryEntry.objects.get(pk=written["nodes"][0]["id"]).status)


def test_unchanged_account_uses_the_defaults(acme: Account) -> None:
    with acting(acme):
        settings = MemorySettings.objects.get_or_default(acme.pk)
        assert (settings.version, settings.inject_max_memories) == (0, 5)
        assert settings.store_threshold == pytest.approx(0.5)
        assert settings.memory_enabled
        assert settings.account == acme


def test_change_is_one_commit_with_previous_values(acme: Account) -> None:
    with acting(acme):
        before = Commit.objects.of(acme).count()
        values = {"store_threshold": 0.7, "account_wide": "apply", "memory_enabled": True}
        changed = update_policy(acme.pk, values, actor=SYSTEM, version=0, reason="Less noise.")
        assert changed == {"store_threshold": (0.5, 0.7), "account_wide": ("propose", "apply")}
        assert Commit.objects.of(acme).count() == before + 1
        head = Commit.objects.of(acme).latest("seq")
        note = Note.objects.get(commit=head)
        assert note.input
        assert note.input["policy"]["store_threshold"] == {"before": 0.5, "after": 0.7}
        assert note.reason == "Less noise."
        assert len(head.diff) == 2
        assert update_policy(acme.pk, values, actor=SYSTEM) == {}
        assert Commit.objects.of(acme).count() == before + 1


def test_reason_is_redacted(acme: Account) -> None:
    with acting(acme):
        update_policy(acme.pk, {"min_score": 0.2}, actor=SYSTEM, reason="Asked by m@example.test")
        assert Note.objects.of(acme).latest("commit__seq").reason == "Asked by [email]"


def test_reason_is_redacted_by_old_and_new_settings(acme: Account) -> None:
    reason = "Asked by m@example.test"
    with acting(acme):
        update_policy(acme.pk, {"redact": []}, actor=SYSTEM)
        update_policy(acme.pk, {"redact": ["email"]}, actor=SYSTEM, reason=reason)
        assert Note.objects.of(acme).latest("commit__seq").reason == "Asked by [email]"
        update_policy(acme.pk, {"redact": ["phone"]}, actor=SYSTEM, reason=reason)
        assert Note.objects.of(acme).latest("commit__seq").reason == "Asked by [email]"


def test_rejects_a_stale_version(acme: Account) -> None:
    with acting(acme):
        update_policy(acme.pk, {"min_score": 0.2}, actor=SYSTEM, version=0)
        with pytest.raises(Conflict):
            update_policy(acme.pk, {"min_score": 0.3}, actor=SYSTEM, version=0)
        update_policy(acme.pk, {"min_score": 0.3}, actor=SYSTEM, version=1)
        assert MemorySettings.objects.get_or_default(acme.pk).version == 2


INVALID: list[dict[str, Any]] = [
    {"min_score": 1.2},
    {"store_threshold": -0.1},
    {"inject_max_memories": 0},
    {"inject_max_memories": 51},
    {"forget_after": {"fact": 0}},
    {"forget_after": {"rumour": 3}},
    {"forget_after": {"fact": True}},
    {"forget_after": [3]},
    {"review_kinds": ["rumour"]},
    {"redact": ["everything"]},
    {"account_wide": "perhaps"},
    {"daily_writes": 0},
    {"open_proposals": -1},
]


def refusal(account: Account, values: dict[str, Any]) -> str:
    """Return why these values are refused, or nothing."""
    try:
        makers.set_policy(account, values)
    except Invalid as error:
        return error.message
    return ""


def test_rejects_invalid_settings(acme: Account) -> None:
    for values in INVALID:
        assert "was not saved" in refusal(acme, values), values
    assert "Unknown policy" in refusal(acme, {"name": "Ours now"})
    with acting(acme):
        assert MemorySettings.objects.get_or_default(acme.pk).version == 0


def test_database_rejects_invalid_settings(acme: Account) -> None:
    with acting(acme):
        update_policy(acme.pk, {"min_score": 0.2}, actor=SYSTEM)
        with pytest.raises(IntegrityError), transaction.atomic():
            MemorySettings.objects.of(acme).update(min_score=2)


def test_every_column_can_be_set() -> None:
    columns = {field.name for field in MemorySettings._meta.concrete_fields}
    assert columns - {"id", "account", "commit", "version"} == MEMORY_FIELDS
    assert {field.name for field in Account._meta.fields} >= ACCOUNT_FIELDS


def test_account_chooses_reviews(agent: Agent, acme: Account, key: tuple[ApiKey, str]) -> None:
    def waits(values: dict[str, Any], **text: Any) -> bool:
        with acting(acme):
            update_policy(acme.pk, values, actor=SYSTEM)
            return status(agent, **text) == MemoryEntry.Status.PROPOSED

    with acting(acme):
        assert status(agent, user_id="ada") == MemoryEntry.Status.ACTIVE
        assert status(agent) == MemoryEntry.Status.PROPOSED
    assert waits({"review_visibilities": ["user"]}, user_id="ada")
    assert not waits({"review_visibilities": []}, user_id="ada")
    assert waits({"review_kinds": ["procedure"]}, user_id="ada", kind="procedure")
    assert not waits({}, user_id="ada", kind="fact")
    assert not waits({"account_wide": "apply"})
    assert waits({"review_keys": [str(key[0].pk)]})
    assert waits({}, user_id="ada")


def test_update_needing_review_is_proposed(agent: Agent, acme: Account) -> None:
    node = {"text": "Ring twice.", "user_id": "ada", "kind": "procedure"}
    new = agent.post("memory/write", {"nodes": [node]}, 201)["nodes"][0]["id"]
    makers.set_policy(acme, {"review_kinds": ["procedure"]})
    answer = agent.post("memory/update", {"id": new, "text": "Ring three times."}, 202)
    assert answer["supersedes"] == new


def test_change_to_a_reviewed_kind_is_proposed(agent: Agent, acme: Account) -> None:
    makers.set_policy(acme, {"review_kinds": ["procedure"]})
    node = {"text": "Ring twice.", "user_id": "ada", "kind": "fact"}
    new = agent.post("memory/write", {"nodes": [node]}, 201)["nodes"][0]["id"]
    answer = agent.post("memory/update", {"id": new, "kind": "procedure"}, 202)
    assert answer["supersedes"] == new


def test_change_from_a_reviewed_kind_is_proposed(agent: Agent, acme: Account) -> None:
    new = agent.store("Ring twice.", user_id="ada", kind="procedure")
    makers.set_policy(acme, {"review_kinds": ["procedure"]})
    answer = agent.post("memory/update", {"id": new, "kind": "fact", "text": "Never ring."}, 202)
    assert (answer["supersedes"], answer["status"]) == (new, "proposed")
    assert [each["text"] for each in agent.search("ring", user_id="ada")] == ["Ring twice."]


def notes(number: int, **more: Any) -> dict[str, Any]:
    return {"nodes": [{"text": f"Note {n} {more}.", **more} for n in range(number)]}


def test_daily_writes_are_limited_per_key(agent: Agent, acme: Account) -> None:
    makers.set_policy(acme, {"daily_writes": 5})
    agent.post("memory/write", notes(4, user_id="u"), 201)
    refused = agent.post("memory/write", notes(2, user_id="v"), 429)
    assert refused["error"] == "daily_quota"
    assert refused["details"] == {"limit": 5, "written": 4}
    assert "Settings → Policy" in refused["message"]
    agent.post("memory/store", {"text": "The fifth.", "user_id": "u"}, 201)
    agent.post("memory/store", {"text": "The sixth.", "user_id": "u"}, 429)
    makers.agent(acme).post("memory/store", {"text": "Another's first.", "user_id": "u"}, 201)
    assert makers.count(MemoryEntry, acme) == 6


def test_retry_counts_once(agent: Agent, acme: Account) -> None:
    makers.set_policy(acme, {"daily_writes": 1})
    text = {"text": "Once.", "user_id": "u", "client_id": "c"}
    first = agent.post("memory/store", text, 201)
    assert agent.post("memory/store", text, 200)["id"] == first["id"]


def test_open_proposals_are_limited_per_key(agent: Agent, acme: Account) -> None:
    makers.set_policy(acme, {"open_proposals": 2})
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
    """An extraction over quota is retried after an hour, not a second."""
    chat.become(reply=scripted_reply([fact("Gates close at six."), fact("Dogs stay outside.")]))
    makers.set_policy(acme, limits)
    before = timezone.now()
    accepted = agent.post("memory/add", {"messages": "The gates close at six."}, 202)
    run_due_jobs()
    assert agent.get(f"events/{accepted['event_id']}")["state"] == "PENDING"
    with acting(acme):
        waiting = Delivery.objects.of(acme).open().get(queue="extraction")
        assert waiting.due_at > before + timedelta(minutes=55)
        assert waiting.attempts == 0
        [notification] = Notification.objects.of(acme)
    assert (notification.kind, notification.count) == ("budget.exceeded", 1)


def test_keys_page_shows_usage(client: Client, ada: User, agent: Agent) -> None:
    agent.post("memory/write", notes(3), 201)
    client.force_login(ada)
    page = client.get("/keys/").content.decode()
    assert f"3 of {DAILY_WRITES:,} written today" in page
    assert f"3 of {OPEN_PROPOSALS:,} pending review" in page
    form = {"daily_writes": "10", "open_proposals": "", "reason": "enough"}
    answer = client.post("/policy/set/?section=quotas", {**form, "section": "quotas"})
    assert answer.status_code < 400
    assert "3 of 10 written today" in client.get("/keys/").content.decode()
