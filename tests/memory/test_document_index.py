"""The keyword index follows changes of texts, and is packed."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.database.ids import uuid7
from kmapp.runtime import embedded
from kmapp.search import posting_packing
from kmapp.search.models import IndexedDocument, PackedPostings, RemovedDocument
from kmapp.search.posting_packing import list_unpacked, pack_recent
from kmapp.search.posting_scores import unpack
from kmapp.search.tasks import pack_postings
from kmapp.search.word_index import index_documents, remove_documents
from memory.actions.review import edit
from memory.actions.write_entries import write_batch
from memory.models import MemoryEntry
from memory.models.entry_input import Batch, NewEntry
from tests import makers


def store(account: Account, text: str) -> MemoryEntry:
    return makers.write(account, text, user_id="u")[0]


def words(entry: MemoryEntry) -> set[str]:
    return set(IndexedDocument.objects.get(document=entry.pk).terms)


def packed_terms(account: Account) -> dict[str, int]:
    """Return the number of packed documents of each term."""
    with acting(account):
        rows = PackedPostings.objects.of(account).values_list("term", "postings")
        return {term: len(unpack(bytes(postings))) for term, postings in rows}


def test_edit_replaces_the_terms(acme: Account) -> None:
    with acting(acme):
        entry = store(acme, "The cat sleeps.")
        other = store(acme, "The cat purrs.")
        assert {"cat", "sleep"} <= words(entry)
        edit(makers.decision(entry), {"content": "The dog sleeps soundly."})
        assert "cat" not in words(entry)
        assert {"dog", "sleep"} <= words(entry)
        assert "cat" in words(other)


def test_indexing_again_replaces_old_terms(acme: Account) -> None:
    with acting(acme):
        index_documents(acme.pk, "c", {acme.pk: "cat cat dog"})
        index_documents(acme.pk, "c", {acme.pk: "cat"})
        row = IndexedDocument.objects.get(collection="c")
        assert (row.terms, row.length) == ({"cat": 1}, 1)


def test_packed_document_is_replaced_at_commit(committed: str, acme: Account) -> None:
    one, two = uuid7(), uuid7()
    with acting(acme):
        index_documents(acme.pk, "c", {one: "猫 cat", two: "cat dog"})
    assert pack_recent(acme.pk, "c", at_least=3) == 0
    assert pack_recent(acme.pk, "c", at_least=2) == 2
    assert packed_terms(acme) == {"cat": 2, "dog": 1, "猫": 1}
    with acting(acme):
        index_documents(acme.pk, "c", {one: "bird"})
        assert RemovedDocument.objects.of(acme).count() == 1
    assert packed_terms(acme) == {"cat": 1, "dog": 1}
    assert pack_recent(acme.pk, "c", at_least=1) == 1
    with acting(acme):
        remove_documents(acme.pk, ["c"], [one, two])
    assert packed_terms(acme) == {}
    assert list_unpacked(at_least=1) == []


def test_packing_continues_in_the_next_block(
    acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(posting_packing, "BLOCK", 4)
    monkeypatch.setattr(posting_packing, "MAX_PACKED", 3)
    texts = {uuid7(): f"cat {n}" for n in range(10)}
    with acting(acme):
        index_documents(acme.pk, "c", texts)
    assert list_unpacked(at_least=10) == [(acme.pk, "c")]
    assert pack_postings() == 0, "fewer than are worth it"
    assert pack_recent(acme.pk, "c", at_least=1) == 10
    with acting(acme):
        blocks = PackedPostings.objects.of(acme).filter(term="cat").order_by("block")
        numbers = [unpack(bytes(row.postings)).numbers.tolist() for row in blocks]
    assert numbers == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_each_block_starts_after_the_one_before(
    acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A large collection would be read once for each of its blocks otherwise."""
    monkeypatch.setattr(posting_packing, "MAX_PACKED", 3)
    texts = {uuid7(): "cat" for _ in range(7)}
    with acting(acme):
        index_documents(acme.pk, "c", texts)
    starts = []

    def listen(execute: Callable[..., Any], sql: str, values: Any, *rest: Any) -> Any:
        if sql == posting_packing._RECENT:  # noqa: SLF001
            starts.append(values[2])
        return execute(sql, values, *rest)

    with connection.execute_wrapper(listen):
        pack_recent(acme.pk, "c", at_least=1)
    documents = sorted(map(str, texts))
    assert starts == [str(UUID(int=0)), documents[2], documents[5], documents[6]]


def test_recent_documents_are_read_in_the_order_of_an_index(acme: Account) -> None:
    values = (f"'{acme.pk}'", "'c'", f"'{UUID(int=0)}'", 10)
    plan = makers.explain(acme, posting_packing._RECENT % values)  # noqa: SLF001
    assert "documents_not_packed" in plan
    assert "Sort" not in plan, "all of them would be sorted for each block"


def test_empty_blocks_are_used_again(
    committed: str, acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(posting_packing, "BLOCK", 4)
    texts = {uuid7(): "cat" for _ in range(10)}
    for _ in range(3):
        with acting(acme):
            index_documents(acme.pk, "c", texts)
        pack_recent(acme.pk, "c", at_least=1)
    with acting(acme):
        numbers = IndexedDocument.objects.of(acme).values_list("number", flat=True)
        assert len(set(numbers)) == len(texts)
        assert max(number for number in numbers if number is not None) < 3 * 4


def test_one_process_at_a_time_packs_a_collection(committed: str, acme: Account) -> None:
    with acting(acme):
        index_documents(acme.pk, "c", {acme.pk: "cat"})
    with psycopg.connect(embedded.server_url(settings.DATA_DIR), dbname=committed) as other:
        key = f"packed postings:{acme.pk}:c"
        other.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [key])
        assert pack_recent(acme.pk, "c", at_least=1) == 0
    assert pack_recent(acme.pk, "c", at_least=1) == 1


def test_lost_purge_is_repeated(committed: str, acme: Account) -> None:
    with acting(acme):
        index_documents(acme.pk, "c", {acme.pk: "cat"})
    pack_recent(acme.pk, "c", at_least=1)
    with acting(acme):
        remove_documents(acme.pk, ["c"], [acme.pk])
        connection.run_on_commit.clear()  # as if the process had died after its commit
    assert packed_terms(acme) == {"cat": 1}
    pack_postings()
    assert packed_terms(acme) == {}


def test_query_count_is_independent_of_batch_size(acme: Account, frozen_caches: None) -> None:
    with acting(acme):
        store(acme, "The models in use are remembered from now on.")
        for number in (1, 50):
            entries = [
                NewEntry(
                    text=f"Text {i}.", user_id="u", run_id=f"r{number}", client_id=f"{number}-{i}"
                )
                for i in range(number)
            ]
            with CaptureQueriesContext(connection) as request:
                write_batch(account_id=acme.pk, actor=SYSTEM, batch=Batch(entries=entries))
            assert len(request) <= 9, "\n".join(query["sql"][:100] for query in request)
