"""Unused memories are demoted to colder tiers, and promoted again when they are used."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.search.models import Vector
from memory.actions import review, tiers
from memory.actions.access_counts import flush_access_counts
from memory.actions.retention import apply_retention
from memory.actions.tiers import HALF_LIFE_DAYS, demote_unused_entries
from memory.models import EntryQuerySet, MemoryEntry, MemoryVersion
from memory.retrieval.access_counters import count_accesses
from tests import makers
from tests.agent import Agent
from tests.race import run_on_own_connection, wait_until_blocked

TEXT = "The ferry to Ostrey leaves at six."


def store(agent: Agent, text: str = TEXT, **more: object) -> str:
    pk = agent.post("memory/store", {"text": text, "user_id": "ann", **more}, 201)["id"]
    makers.settle()
    return str(pk)


def age(account: Account, days: float) -> None:
    """Move all memories back by this many days."""
    with acting(account):
        then = timezone.now() - timedelta(days=days)
        MemoryEntry.objects.update(created_at=then, last_accessed_at=None, last_activated_at=None)


def tier(account: Account, pk: str) -> str:
    return makers.get(MemoryEntry, account, pk=pk).tier


def vectors(account: Account, pk: str) -> int:
    return makers.count(Vector, account, object_id=pk, state="READY")


def test_unused_memory_is_demoted_in_steps(agent: Agent, acme: Account) -> None:
    pk = store(agent)
    assert demote_unused_entries(acme.pk) == 0
    age(acme, 1.1 * HALF_LIFE_DAYS)
    assert (demote_unused_entries(acme.pk), tier(acme, pk)) == (1, "warm")
    assert (demote_unused_entries(acme.pk), vectors(acme, pk)) == (0, 1)
    age(acme, 2.5 * HALF_LIFE_DAYS)
    assert (demote_unused_entries(acme.pk), tier(acme, pk)) == (1, "cold")
    assert vectors(acme, pk) == 0
    with acting(acme):
        reasons = MemoryVersion.objects.filter(entry_id=UUID(pk)).values_list("event", "actor")
        assert list(reasons.order_by("version"))[1:] == [("UPDATE", "system")] * 2
    assert (demote_unused_entries(acme.pk), tier(acme, pk)) == (0, "cold")


def test_cold_memory_is_found_by_words_and_warms_up(agent: Agent, acme: Account) -> None:
    pk = store(agent)
    for days in (1.1 * HALF_LIFE_DAYS, 2.5 * HALF_LIFE_DAYS):
        age(acme, days)
        demote_unused_entries(acme.pk)
    makers.settle()
    assert vectors(acme, pk) == 0
    assert agent.get("health")["pending_embeddings"] == 0
    query = {"query": "ferry Ostrey", "user_id": "ann"}
    [hit] = agent.post("memory/search", query)["results"]
    assert hit["embedding_status"] == "COLD"
    count_accesses(acme.pk, [MemoryEntry(pk=pk).pk])
    flush_access_counts(acme.pk)
    makers.settle()
    assert tier(acme, pk) == "warm"
    [hit] = agent.post("memory/search", query)["results"]
    assert hit["embedding_status"] == "READY"


def test_memory_that_was_recalled_and_then_forgotten_can_be_restored(
    agent: Agent, acme: Account
) -> None:
    pk = UUID(store(agent))
    makers.update(MemoryEntry, acme, {"pk": pk}, tier="cold")
    count_accesses(acme.pk, [pk])
    with acting(acme):
        forgotten = review.forget(makers.decision(MemoryEntry.objects.get(pk=pk)))
    flush_access_counts(acme.pk)
    with acting(acme):
        [restored] = review.undo(makers.decision(forgotten, version=forgotten.version))
    assert restored.status == "active"


def test_important_memories_stay_hot(agent: Agent, acme: Account) -> None:
    important, lasting = store(agent, "Kept.", importance=1.0), store(agent, half_life_days=2000)
    other, odd = store(agent, "Usual."), store(agent, "Another.")
    makers.update(MemoryEntry, acme, {"pk": odd}, half_life_days=0)  # like no half-life
    age(acme, 1.1 * HALF_LIFE_DAYS)
    demote_unused_entries(acme.pk)
    assert (tier(acme, important), tier(acme, lasting)) == ("hot", "hot")
    assert (tier(acme, other), tier(acme, odd)) == ("warm", "warm")


def test_any_half_life_and_time_of_an_import_can_be_computed_with(
    agent: Agent, acme: Account
) -> None:
    short, future, usual = store(agent), store(agent, "Another."), store(agent, "Usual.")
    age(acme, 1.1 * HALF_LIFE_DAYS)
    makers.update(MemoryEntry, acme, {"pk": short}, half_life_days=1e-310)
    makers.update(
        MemoryEntry,
        acme,
        {"pk": future},
        half_life_days=0.01,
        created_at=timezone.now() + timedelta(days=10_000),
    )
    assert demote_unused_entries(acme.pk) == 2
    assert [tier(acme, each) for each in (short, future, usual)] == ["warm", "hot", "warm"]
    assert short in {hit["id"] for hit in agent.search(query="ferry Ostrey", user_id="ann")}


def test_pinned_memory_is_not_demoted(agent: Agent, acme: Account) -> None:
    pk = store(agent)
    makers.update(MemoryEntry, acme, {"pk": pk}, pinned=True)
    age(acme, 10 * HALF_LIFE_DAYS)
    assert (demote_unused_entries(acme.pk), tier(acme, pk)) == (0, "hot")


def test_memory_that_is_pinned_during_a_demotion_is_not_demoted_after_it(
    committed: str, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    [entry] = makers.write(acme, TEXT)
    age(acme, 1.1 * HALF_LIFE_DAYS)
    with_verify_on_read = EntryQuerySet.with_verify_on_read
    steps: list[str] = []

    def pin() -> None:
        with acting(acme):
            review.pin(makers.decision(entry))

    def pin_meanwhile(rows: EntryQuerySet, account_id: UUID) -> EntryQuerySet:
        if not steps:
            steps.append("pin")
            wait_until_blocked(pool.submit(run_on_own_connection, pin))
        return with_verify_on_read(rows, account_id)

    monkeypatch.setattr(EntryQuerySet, "with_verify_on_read", pin_meanwhile)
    with ThreadPoolExecutor(1) as pool:
        first = UUID(int=0)
        moved = tiers._demote_batch(acme.pk, *tiers.COOLING_STEPS[0], after=first)  # noqa: SLF001
    assert moved == (1, entry.pk)
    with acting(acme):
        versions = MemoryVersion.objects.filter(entry=entry).order_by("version")
        assert list(versions.values_list("event", flat=True)) == ["ADD", "UPDATE", "PIN"]


def test_cold_memory_is_not_embedded(agent: Agent, acme: Account) -> None:
    pk = store(agent, tier="cold")
    assert vectors(acme, pk) == 0
    assert agent.get("health")["pending_embeddings"] == 0


def test_cooling_does_not_renew_the_retention(agent: Agent, acme: Account) -> None:
    pk = store(agent, kind="event")
    makers.set_policy(acme, {"forget_after": {"event": 365}})
    age(acme, 366)
    then = timezone.now() - timedelta(days=366)
    makers.update(MemoryEntry, acme, {"pk": pk}, updated_at=then)
    assert (demote_unused_entries(acme.pk), tier(acme, pk)) == (1, "warm")
    assert makers.get(MemoryEntry, acme, pk=pk).updated_at == then
    assert makers.get(MemoryVersion, acme, entry_id=pk, version=2).created_at > then
    assert apply_retention(acme.pk) == 1
    assert makers.get(MemoryEntry, acme, pk=pk).status == "forgotten"
