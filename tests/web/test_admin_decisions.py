"""Actions of the Django admin."""

from typing import Any

import pytest
from django.db import connection
from django.db.models import Model
from django.test import Client
from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, ApiKey
from kmapp.ledger.models import Commit
from kmapp.outbox.models import Delivery
from memory.models import MemoryEntry
from rules.models import Rule
from tests import makers
from tests.rules.builders import add_promotable_rule, add_rule, reload_rule, set_gate
from tests.web.pages import html
from tests.web.staff import address, fill, staff


def test_action_creates_a_version_and_a_commit(
    superuser: Client, acme: Account, agent: Client
) -> None:
    for verb, status, pinned in (
        *(("approve", "active", False), ("reject", "rejected", False)),
        *(("pin", "proposed", True), ("forget", "forgotten", False)),
    ):
        body = {"text": f"Tea to {verb}."}
        written = agent.post("/v1/memory/store", body, content_type="application/json")
        pk = written.json()["id"]
        decide(superuser, MemoryEntry, verb, [pk])
        entry = makers.get(MemoryEntry, acme, pk=pk)
        commit = makers.get(Commit, acme, pk=entry.commit_id)
        assert (entry.status, entry.pinned, entry.version) == (status, pinned, 2), verb
        assert commit.actor.startswith("user:")
        assert commit.diff[0]["op"] == verb.upper()


def decide(client: Client, model: type[Model], verb: str, pks: list[Any]) -> str:
    """Run an admin action and return the page."""
    body = {"action": verb, "_selected_action": pks}
    answer = client.post(address(model), body, follow=True)
    assert answer.status_code == 200
    return html(answer)


def test_refused_rows_are_reported(superuser: Client, acme: Account) -> None:
    entries = fill(acme)  # active: nobody proposed them
    text = decide(superuser, MemoryEntry, "approve", [entry.pk for entry in entries])
    assert "Someone else may have decided first" in text
    assert "rows were changed" not in text
    assert "2 rows were changed." in decide(
        superuser, MemoryEntry, "pin", [entry.pk for entry in entries]
    )


def test_each_row_has_its_transaction(committed: str, superuser: Client, acme: Account) -> None:
    pks = [entry.pk for entry in fill(acme)]
    assert "2 rows were changed." in decide(superuser, MemoryEntry, "pin", pks)
    with acting(acme), connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(DISTINCT xmin::text) FROM memory_memoryentry WHERE id = ANY (%s)", [pks]
        )
        assert cursor.fetchall() == [(2,)]


def test_row_limit(superuser: Client, acme: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kmapp.web.admin.base.MAX_ROWS_PER_ACTION", 3)
    entries = fill(acme, 4)
    assert "at most 3" in decide(superuser, MemoryEntry, "forget", [entry.pk for entry in entries])
    assert not makers.rows(MemoryEntry, acme, status="forgotten")


def test_only_admins_revoke_keys(client: Client, acme: Account) -> None:
    key, secret = makers.key(acme)
    client.force_login(staff(acme, "rev", role="editor"))
    assert 'value="revoke"' not in html(client.get(address(ApiKey)))
    decide(client, ApiKey, "revoke", [key.pk])
    headers = {"X-Api-Key": secret}
    assert Client().get("/v1/memory/commits", headers=headers).status_code == 200
    client.force_login(staff(acme, "boss"))
    decide(client, ApiKey, "revoke", [key.pk])
    assert Client().get("/v1/memory/commits", headers=headers).status_code == 401


def test_failed_jobs_are_retried(superuser: Client, acme: Account) -> None:
    fill(acme)
    with acting(acme):
        Delivery.objects.of(acme).update(failed_at=timezone.now(), attempts=8)
        pks = list(Delivery.objects.of(acme).values_list("pk", flat=True))
    assert "rows were changed" in decide(superuser, Delivery, "try_again", pks)
    with acting(acme):
        assert not Delivery.objects.of(acme).dead().exists()


def test_rule_is_promoted_and_rolled_back(superuser: Client, acme: Account) -> None:
    new = add_promotable_rule(acme)
    set_gate(acme, second_person=True)
    assert "second person" in decide(superuser, Rule, "promote", [new.pk])
    assert reload_rule(new).state == "shadow"
    set_gate(acme, second_person=False)
    assert "1 row was changed." in decide(superuser, Rule, "promote", [new.pk])
    assert reload_rule(new).state == "active"
    assert "1 row was changed." in decide(superuser, Rule, "roll_back", [new.pk])
    assert reload_rule(new).state == "shadow"


def test_promotion_respects_the_gate(superuser: Client, acme: Account) -> None:
    for state, second_person, words in (
        ("draft", False, "Move it to shadow first"),
        ("disabled", False, "Move it to shadow first"),
        ("shadow", False, "Not enough evidence"),
        ("shadow", True, "second person"),
    ):
        set_gate(acme, second_person=second_person)
        new = add_rule(acme, "A rule", state)
        assert words in decide(superuser, Rule, "promote", [new.pk]), (state, second_person)
        assert reload_rule(new).state == state


def test_reviewer_only_decides_proposals(client: Client, acme: Account, agent: Client) -> None:
    written = agent.post("/v1/memory/store", {"text": "Tea."}, content_type="application/json")
    pk, draft = written.json()["id"], add_rule(acme, "A draft")
    client.force_login(staff(acme, "rev", role="reviewer"))
    for model, row, verb in (
        (MemoryEntry, pk, "pin"),
        (MemoryEntry, pk, "forget"),
        (Rule, draft.pk, "move_to_shadow"),
    ):
        assert f'value="{verb}"' not in html(client.get(address(model)))
        decide(client, model, verb, [row])
    assert reload_rule(draft).state == "draft"
    entry = makers.get(MemoryEntry, acme, pk=pk)
    assert (entry.status, entry.pinned) == ("proposed", False)
    decide(client, MemoryEntry, "approve", [pk])
    assert makers.get(MemoryEntry, acme, pk=pk).status == "active"


def test_editor_can_only_move_drafts_to_shadow(client: Client, acme: Account) -> None:
    client.force_login(staff(acme, "rev", role="editor"))
    draft, live = add_rule(acme, "A draft"), add_rule(acme, "Live", "active")
    page = html(client.get(address(Rule)))
    for verb in ("promote", "roll_back", "disable"):
        assert f'value="{verb}"' not in page
        decide(client, Rule, verb, [live.pk])
    assert "Only an admin" in decide(client, Rule, "move_to_shadow", [live.pk])
    assert reload_rule(live).state == "active"
    decide(client, Rule, "move_to_shadow", [draft.pk])
    assert reload_rule(draft).state == "shadow"
