"""Term postings follow the text of a memory."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.database.ids import uuid7
from kmapp.search import queries
from kmapp.search.actions import index_terms, unindex_terms
from kmapp.search.models import TermPosting
from kmapp.search.queries import Collection
from memory.actions.entries import write_batch
from memory.actions.review import edit
from memory.models import MemoryEntry
from memory.models.entry_input import Batch, NewEntry
from tests import makers


def store(account: Account, text: str) -> MemoryEntry:
    return makers.write(account, text, user_id="u")[0]


def words(entry: MemoryEntry) -> set[str]:
    rows = TermPosting.objects.filter(document=entry.pk).exclude(term="")
    return set(rows.values_list("term", flat=True))


def test_edit_replaces_the_terms(acme: Account) -> None:
    with acting(acme):
        entry = store(acme, "The cat sleeps.")
        other = store(acme, "The cat purrs.")
        assert {"cat", "sleep"} <= words(entry)
        decision = makers.decision(entry)
        edit(decision, {"content": "The dog sleeps soundly."})
        assert "cat" not in words(entry)
        assert {"dog", "sleep"} <= words(entry)
        assert "cat" in words(other)
        assert TermPosting.objects.filter(document=entry.pk, term="").count() == 1


def test_indexing_again_replaces_old_terms(acme: Account) -> None:
    with acting(acme):
        index_terms(acme.pk, "c", {acme.pk: "cat cat dog"})
        index_terms(acme.pk, "c", {acme.pk: "cat"})
        assert TermPosting.objects.get(term="cat").tf == 1


def test_unindexing_leaves_nothing(acme: Account) -> None:
    with acting(acme):
        index_terms(acme.pk, "c", {acme.pk: "猫 cat"})
        unindex_terms(acme.pk, "c", {acme.pk: "猫 cat"})
        assert not TermPosting.objects.filter(collection="c").exists()


def test_common_terms_are_cached(
    acme: Account, still: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "SMALL_COUNT", 2)
    collection = Collection(account_id=acme.pk, name="c")

    def says() -> tuple[float, float]:
        idf = queries.load_weighted_terms(collection, ["cat", "dog"]).idf
        return idf["cat"], idf["dog"]

    with acting(acme):
        index_terms(acme.pk, "c", {uuid7(): "cat dog", uuid7(): "cat", uuid7(): "cat"})
        before = says()
        index_terms(acme.pk, "c", {uuid7(): "cat dog"})
        after = says()
    assert after[0] == before[0], "known for some seconds"
    assert after[1] < before[1], "in few documents: counted each time"


@pytest.mark.parametrize("number", [1, 50])
def test_query_count_is_independent_of_batch_size(acme: Account, number: int, still: None) -> None:
    entries = [
        NewEntry(text=f"Text {i}.", user_id="u", run_id="r", client_id=f"c{i}")
        for i in range(number)
    ]
    with acting(acme):
        store(acme, "The models in use are remembered from now on.")
        with CaptureQueriesContext(connection) as request:
            write_batch(account_id=acme.pk, actor=SYSTEM, batch=Batch(entries=entries))
    assert len(request) <= 9, "\n".join(query["sql"][:100] for query in request)
