"""Triage of several proposals at once: shared look-ups, and the same findings as one by one."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.outbox.deliver import deliver_due
from kmapp.providers.models import EmbeddingModel
from kmapp.search import scan_method_choice
from kmapp.search.batch_nearest_search import find_nearest_of_each
from kmapp.search.query_vector import QueryVector
from memory.actions import proposal_findings
from memory.actions.derived_edges import load_meanings
from memory.actions.proposal_findings import triage_entries
from memory.models import Finding, MemoryEntry, Triage
from tests import makers
from tests.agent import Agent
from tests.memory.test_proposal_findings import LYON, propose

TEXTS = (LYON, LYON.replace("six", "five"), "Cats sleep a lot.", "Cats sleep all day.")


def list_findings(account: Account) -> list[Mapping[str, Any]]:
    names = ("entry_id", "kind", "name", "other_id", "score", "details")
    with acting(account):
        return list(Finding.objects.of(account).order_by(*names[:4]).values(*names))


@pytest.mark.parametrize("scan_factor", [0.0, 30.0])  # by the index; by a scan
def test_batch_has_the_findings_of_single_triages(
    agent: Agent, acme: Account, monkeypatch: pytest.MonkeyPatch, scan_factor: float
) -> None:
    makers.set_policy(acme, {"review_visibilities": ["user"]})
    owners = [{}, {"visibility": "user", "user_id": "ann"}, {"agent_id": "bot"}]
    ids = [UUID(propose(agent, text, **owner)) for owner in owners for text in TEXTS]
    makers.settle()
    monkeypatch.setattr(scan_method_choice, "SCAN_FACTOR", scan_factor)
    scan_method_choice.clear_query_caches()
    triage_entries(acme.pk, ids)
    findings = list_findings(acme)
    assert "contradiction" in {row["kind"] for row in findings}
    assert all(row["other_id"] != row["entry_id"] for row in findings)
    for pk in ids:
        triage_entries(acme.pk, [pk])
    assert list_findings(acme) == findings
    scan_method_choice.clear_query_caches()


def test_vectors_of_a_batch_are_read_once(agent: Agent, acme: Account) -> None:
    for text in TEXTS:
        propose(agent, text)
    deliver_due("embedding")
    with CaptureQueriesContext(connection) as queries:
        assert deliver_due("clustering") > len(TEXTS)  # each of them has two jobs by now
    statements = [query["sql"] for query in queries]
    assert sum(sql.startswith("WITH allowed AS MATERIALIZED") for sql in statements) == 1
    assert sum('"search_vector"."embedding"' in sql for sql in statements) == 1
    triaged = makers.rows(Triage, acme)
    assert [row.by_meaning for row in triaged] == [True] * len(TEXTS)


def test_triage_without_a_vector_does_not_replace_that_with_one(
    agent: Agent, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    pk = UUID(propose(agent, LYON))
    makers.settle()
    results: list[dict[UUID, QueryVector]] = []

    def load(entries: Sequence[MemoryEntry], model: EmbeddingModel) -> dict[UUID, QueryVector]:
        """Return no vector at first, as if it was stored after that."""
        results.append(load_meanings(entries, model) if results else {})
        return results[-1]

    monkeypatch.setattr(proposal_findings, "load_meanings", load)
    triage_entries(acme.pk, [pk])
    assert [len(vectors) for vectors in results] == [0, 1]
    assert makers.get(Triage, acme, entry=pk).by_meaning


def test_memory_that_was_decided_after_the_look_up_is_not_compared(
    agent: Agent, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    existing, new = (UUID(propose(agent, text)) for text in TEXTS[:2])
    makers.settle()

    def find(*args: Any, **options: Any) -> dict[UUID, dict[str, float]]:
        results = find_nearest_of_each(*args, **options)
        MemoryEntry.objects.of(acme).filter(pk=existing).update(status="rejected")
        return results

    pair = (new, existing)
    assert pair in {(row["entry_id"], row["other_id"]) for row in list_findings(acme)}
    monkeypatch.setattr(proposal_findings, "find_nearest_of_each", find)
    triage_entries(acme.pk, [new])
    assert pair not in {(row["entry_id"], row["other_id"]) for row in list_findings(acme)}
