"""Rows that someone changed in the database: less common responses, and the next change."""

import json
from uuid import UUID

import pytest
from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account, User
from kmapp.errors import Conflict
from memory.actions import access_counts, retention, review, tiers
from memory.actions.retention import apply_retention
from memory.api.extraction_results import load_extraction_outcome
from memory.models import Extraction, MemoryEntry, MemorySettings, MemoryVersion
from memory.retrieval.access_counters import count_accesses
from tests import makers
from tests.agent import Agent
from tests.kernel.fsck.tampering import Intruder
from tests.sealed_reads import (
    EDITS,
    UNEDITED,
    assert_withheld,
    create_verifying_agent,
    edited,
    read_bank,
)
from tests.web.pages import page

pytestmark = pytest.mark.usefixtures("module_commits")

TEXT = "The spare key of the workshop is in the blue box."
OWNER = {"user_id": "ana"}


@pytest.fixture
def agent(acme: Account) -> Agent:
    return create_verifying_agent(acme)


def test_every_sealed_column_of_a_memory_has_an_edit() -> None:
    columns = {field.attname for field in MemoryEntry._meta.concrete_fields}
    sealed = columns - set(MemoryEntry.unsealed_fields)
    assert {edit.partition(" = ")[0] for edit in EDITS} == sealed - UNEDITED


def test_changed_memory_is_withheld_from_the_answers_of_hindsight(
    agent: Agent, intruder: Intruder
) -> None:
    fields = {"agent_id": "bank", "visibility": "user", "entities": ["Workshop"]}
    other = "The workshop opens at nine."
    [pk, _other] = agent.write(TEXT, other, **fields)
    answers = read_bank(agent, "bank")
    assert answers["entities"]["items"][0]["mention_count"] == 2
    assert all(TEXT in json.dumps(answers[name]) for name in ("list", "entity"))
    for edit in (EDITS[0], """entities = '{Cellar}'"""):
        with edited(intruder, "memory_memoryentry", pk, edit):
            answers = read_bank(agent, "bank")
            assert_withheld(answers, pk, TEXT, "was sold", "Cellar")
            assert answers["entities"]["items"][0]["mention_count"] == 1


def test_result_of_an_extraction_has_no_changed_text(
    acme: Account, agent: Agent, intruder: Intruder
) -> None:
    pk = agent.store(TEXT, **OWNER)
    makers.settle()
    now, result = timezone.now(), {"results": [{"id": pk}]}
    row = Extraction(
        account_id=acme.pk, result=result, observed_at=now, created_at=now, finished_at=now
    )
    payload = {"extraction": str(row.pk)}
    with acting(acme):
        row.save()
        assert TEXT in json.dumps(load_extraction_outcome(acme.pk, payload).result)
    with edited(intruder, "memory_memoryentry", pk, EDITS[0]), acting(acme):
        assert load_extraction_outcome(acme.pk, payload).result == {
            "results": [{"id": pk, "text": None}]
        }


def test_change_of_a_changed_row_is_refused(
    acme: Account, agent: Agent, intruder: Intruder
) -> None:
    """A new seal would hide the edit."""
    pk = agent.store(TEXT, **OWNER)
    entry = makers.get(MemoryEntry, acme, pk=pk)
    with edited(intruder, "memory_memoryentry", pk, EDITS[0]):
        with acting(acme), pytest.raises(Conflict, match="erase the memory") as refused:
            review.pin(makers.decision(entry))
        assert refused.value.code == "withheld"
        makers.set_policy(acme, {"verify_on_read": False})
        with acting(acme):
            assert review.pin(makers.decision(entry)).pinned


def test_repeated_store_does_not_return_a_changed_row(agent: Agent, intruder: Intruder) -> None:
    for body in ({"text": TEXT, "client_id": "key", **OWNER}, {"text": f"{TEXT} Why?", **OWNER}):
        pk = agent.post("memory/store", body, 201)["id"]
        with edited(intruder, "memory_memoryentry", pk, "title = 'Sold'"):
            refused = agent.post("memory/store", body, 409)
            assert (refused["error"], refused["withheld"]) == ("withheld", 1)
        assert agent.post("memory/store", body, 200)["id"] == pk


def test_page_of_a_memory_shows_a_version_that_nobody_could_have_sealed(
    acme: Account, agent: Agent, intruder: Intruder, ada: User
) -> None:
    pk = agent.store(TEXT, **OWNER)
    [version] = makers.rows(MemoryVersion, acme, entry_id=pk)
    admin = makers.signed_in(ada)
    assert "Broken" not in page(admin.get(f"/memory/{pk}/"))
    for edit in (
        "state = state || '{\"importance\": 9007199254740993}'",  # not exact as a double
        "actor = 'nobody'",
    ):
        with edited(intruder, "memory_memoryversion", version.pk, edit):
            text = page(admin.get(f"/memory/{pk}/"))
            assert "Broken" in text or "nobody" in text, edit


def test_jobs_skip_changed_rows(
    acme: Account, agent: Agent, intruder: Intruder, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed, other = agent.write(TEXT, "The workshop opens at nine.", **OWNER)
    monkeypatch.setattr(tiers, "COOLING_STEPS", (("hot", "cold", 0.9),))
    makers.update(MemorySettings, acme, {}, forget_after={"fact": 0})

    def read(pk: str) -> tuple[str, str]:
        entry = makers.get(MemoryEntry, acme, pk=pk)
        return entry.tier, entry.status

    with edited(intruder, "memory_memoryentry", changed, EDITS[0]):
        assert tiers.demote_unused_entries(acme.pk) == 1
        assert (read(changed), read(other)) == (("hot", "active"), ("cold", "active"))
        intruder.run("UPDATE memory_memoryentry SET tier = 'cold' WHERE id = %s", changed)
        count_accesses(acme.pk, [UUID(changed), UUID(other)])
        assert access_counts.flush_access_counts(acme.pk) == 2
        assert (read(changed), read(other)) == (("cold", "active"), ("warm", "active"))
        assert apply_retention(acme.pk) == 1
        assert (read(changed)[1], read(other)[1]) == ("active", "forgotten")
    assert apply_retention(acme.pk) == 1
    assert read(changed)[1] == "forgotten"


def test_changed_rows_do_not_end_the_jobs_on_later_ones(
    acme: Account, agent: Agent, intruder: Intruder, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed, other = sorted(agent.write(TEXT, "The workshop opens at nine.", **OWNER))
    for module in (retention, tiers):
        monkeypatch.setattr(module, "BATCH", 1)
    monkeypatch.setattr(tiers, "COOLING_STEPS", (("hot", "cold", 0.9),))
    makers.update(MemorySettings, acme, {}, forget_after={"fact": 0})
    with edited(intruder, "memory_memoryentry", changed, EDITS[0]):
        assert tiers.demote_unused_entries(acme.pk) == 1
        assert makers.get(MemoryEntry, acme, pk=other).tier == "cold"
        assert apply_retention(acme.pk) == 1
        assert makers.get(MemoryEntry, acme, pk=other).status == "forgotten"
        assert makers.get(MemoryEntry, acme, pk=changed).status == "active"
