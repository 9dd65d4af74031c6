"""What an account wants done with memories: typed, on the ledger, and kept to."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account, ApiKey
from kmapp.errors import Conflict, Invalid
from kmapp.ledger.models import Commit, Note
from memory.actions.settings import ACCOUNT_FIELDS, MEMORY_FIELDS, update_policy
from memory.models import MemoryEntry, MemorySettings
from tests.agent import Agent


def status(agent: Agent, **said: Any) -> str:
    written = agent.post("memory/write", {"nodes": [{"text": "It opens at nine.", **said}]}, 201)
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


@pytest.mark.parametrize(
    "values",
    [
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
        {"name": "Ours now"},
    ],
)
def test_rejects_invalid_settings(acme: Account, values: dict[str, Any]) -> None:
    with acting(acme):
        with pytest.raises(Invalid):
            update_policy(acme.pk, values, actor=SYSTEM)
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
    def waits(values: dict[str, Any], **said: Any) -> bool:
        with acting(acme):
            update_policy(acme.pk, values, actor=SYSTEM)
            return status(agent, **said) == MemoryEntry.Status.PROPOSED

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
    made = agent.post("memory/write", {"nodes": [node]}, 201)["nodes"][0]["id"]
    with acting(acme):
        update_policy(acme.pk, {"review_kinds": ["procedure"]}, actor=SYSTEM)
    answer = agent.post("memory/update", {"id": made, "text": "Ring three times."}, 202)
    assert answer["supersedes"] == made


def test_change_to_a_reviewed_kind_is_proposed(agent: Agent, acme: Account) -> None:
    with acting(acme):
        update_policy(acme.pk, {"review_kinds": ["procedure"]}, actor=SYSTEM)
    node = {"text": "Ring twice.", "user_id": "ada", "kind": "fact"}
    made = agent.post("memory/write", {"nodes": [node]}, 201)["nodes"][0]["id"]
    answer = agent.post("memory/update", {"id": made, "kind": "procedure"}, 202)
    assert answer["supersedes"] == made
