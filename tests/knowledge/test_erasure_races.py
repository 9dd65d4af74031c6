"""Erasures of documents and sources during deliveries, jobs and writes of lore."""

from typing import Any

import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.database.raw_sql import fetch_all
from kmapp.errors import Gone
from kmapp.ledger.models import Commit
from kmapp.search.models import Vector
from kmapp.search.word_index import remove_documents
from knowledge.actions import erasure
from knowledge.actions.erasure import erase_document, erase_source
from knowledge.actions.ingest import IngestResult, ingest_deliveries
from knowledge.actions.lore import add_entries
from knowledge.actions.sources import NewSource, ensure_source
from knowledge.models import KnowledgeChunk, KnowledgeDocument, KnowledgeSource, LorebookEntry
from tests import makers
from tests.agent import Agent
from tests.fake_provider import FakeProvider
from tests.knowledge.builders import deliver
from tests.race import run_concurrently

TEA = "# Tea\n\nOolong is partly oxidised."


def erase(document: KnowledgeDocument) -> None:
    with acting(document.account_id):
        erase_document(document.account_id, document.pk, SYSTEM)


def test_statements_of_an_erasure_may_take_long(
    acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    [document] = deliver(acme, {"tea.md": TEA}).documents
    limits: list[Any] = []

    def remove(*arguments: Any) -> None:
        limits.extend(fetch_all("SELECT current_setting('statement_timeout')"))
        remove_documents(*arguments)

    monkeypatch.setattr(erasure, "remove_documents", remove)
    erase(document)
    assert limits == [("1min",)]


def test_delivery_does_not_remove_an_erased_document(shared_database: None, acme: Account) -> None:
    [document] = deliver(acme, {"tea.md": TEA}).documents

    def remove() -> IngestResult:
        with acting(acme):
            return ingest_deliveries(document.source, SYSTEM, [], remove=["tea.md"])

    assert run_concurrently(acme, lambda: erase(document), remove).removed == []
    makers.check_ledger()


def test_delivery_adds_an_erased_document_again(shared_database: None, acme: Account) -> None:
    [document] = deliver(acme, {"tea.md": TEA}).documents
    result = run_concurrently(
        acme, lambda: erase(document), lambda: deliver(acme, {"tea.md": f"{TEA} And rolled."})
    )
    assert result.added == ["tea.md"]
    makers.check_ledger()


def test_lore_is_not_added_to_an_erased_source(shared_database: None, acme: Account) -> None:
    with acting(acme):
        source = ensure_source(acme.pk, SYSTEM, NewSource(name="lore", kind="lorebook"))

    def add() -> None:
        with acting(acme):
            add_entries(source, SYSTEM, [{"content": "Tea grows here.", "keys": ["tea"]}])

    with pytest.raises(Gone):
        run_concurrently(acme, lambda: erase_source(acme.pk, source.pk, SYSTEM), add)
    assert makers.count(LorebookEntry, acme) == makers.count(KnowledgeSource, acme) == 0
    makers.check_ledger()


@pytest.mark.parametrize("operation", ["deliver", "erase"])
def test_chunks_are_locked_before_their_vectors(
    shared_database: None, acme: Account, provider: FakeProvider, operation: str
) -> None:
    [document] = deliver(acme, {"tea.md": TEA}).documents
    makers.settle()
    chunk = makers.get(KnowledgeChunk, acme)

    def operate() -> None:
        if operation == "erase":
            erase(document)
        else:
            deliver(acme, {"tea.md": "# Tea\n\nSencha is steamed."})

    run_concurrently(
        acme,
        lambda: KnowledgeChunk.objects.select_for_update(no_key=True).get(pk=chunk.pk),
        operate,
        then=lambda: Vector.objects.filter(object_id=chunk.pk).update(error="again"),
    )
    assert makers.count(KnowledgeChunk, acme, pk=chunk.pk) == 0
    assert makers.count(Vector, acme, object_id=chunk.pk) == 0


def test_document_is_removed_once(agent: Agent, acme: Account) -> None:
    texts = [{"ref": ref, "text": ref} for ref in ("a.md", "b.md", "c.md")]
    body = {"source": {"name": "docs"}}
    agent.post("knowledge/ingest", {**body, "documents": texts}, 201)
    twice = {**body, "remove": ["a.md", "a.md"]}
    assert agent.post("knowledge/ingest", twice, 200)["removed"] == ["a.md"]
    rest = {"documents": texts[2:], "remove": ["b.md", "c.md"], "complete": True}
    result = agent.post("knowledge/ingest", {**body, **rest}, 200)
    assert (result["removed"], result["unchanged"]) == (["b.md"], ["c.md"])
    with acting(acme):
        for commit in Commit.objects.of(acme):
            objects = [change["object"] for change in commit.diff]
            assert len(objects) == len(set(objects))
    assert [row.ref for row in makers.rows(KnowledgeDocument, acme, removed_at=None)] == ["c.md"]
