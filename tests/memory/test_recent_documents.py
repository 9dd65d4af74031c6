"""Recent documents: those whose words or codes are not packed are read one by one."""

from typing import Any
from unittest.mock import Mock

import pytest
from django.db import connection

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.database.ids import uuid7
from kmapp.database.raw_sql import fetch_all
from kmapp.search import word_search
from kmapp.search.allowed_objects import Collection
from kmapp.search.models import IndexedDocument
from kmapp.search.posting_packing import pack_recent
from kmapp.search.tasks import pack_vector_codes
from kmapp.search.vector_code_packing import MIN_CODED
from kmapp.search.word_index import index_documents

TEXTS = ["tea cup tea", "milk", "cup of milk", "a kettle", "tea and milk, and milk", "茶 tea"]
# One row for each term of a document, as a reference.
FREQUENCIES_SQL = """
SELECT d.document::text, d.length, q.term, (d.terms->>q.term)::int
  FROM search_indexeddocument d JOIN unnest(%s::text[]) AS q (term) ON d.terms ? q.term
 WHERE d.account_id = %s AND d.collection = %s AND d.number IS NULL
"""


@pytest.fixture
def collection(acme: Account) -> Collection:
    return Collection(account_id=acme.pk, name="c")


def index(collection: Collection, texts: list[str]) -> None:
    documents = {uuid7(): text for text in texts}
    index_documents(collection.account_id, collection.name, documents)


@pytest.mark.parametrize(
    "terms", [[], ["tea"], ["tea", "milk", "unknown", "茶"], ["kettle", "cup", "tea"]]
)
def test_frequencies_of_recent_documents(collection: Collection, terms: list[str]) -> None:
    with acting(collection.account_id):
        index(collection, ["tea with milk"] * 3)
        pack_recent(collection.account_id, collection.name, at_least=1)
        index(collection, TEXTS)
        _, recent = word_search._load_postings(collection, terms)  # noqa: SLF001
        rows = fetch_all(FREQUENCIES_SQL, [terms, collection.account_id, collection.name])
    expected: dict[str, word_search.RecentDocument] = {}
    for document, length, term, frequency in rows:
        entry = expected.setdefault(document, word_search.RecentDocument(length, {}))
        entry.frequencies[term] = frequency
    assert recent == expected


def test_a_recent_document_is_one_row_whatever_it_contains(collection: Collection) -> None:
    counts: list[int] = []

    def count_rows(execute: Any, sql: str, parameters: Any, many: bool, context: Any) -> Any:  # noqa: FBT001 - of Django
        result = execute(sql, parameters, many, context)
        counts.append(context["cursor"].rowcount)
        return result

    with acting(collection.account_id):
        index(collection, ["tea cup milk", "tea cup", "kettle"])
        with connection.execute_wrapper(count_rows):
            word_search._load_postings(collection, ["tea", "cup", "milk"])  # noqa: SLF001
    assert counts == [2]


def test_codes_of_few_documents_are_packed(
    collection: Collection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then, every search of their reader groups compares them one by one."""
    pack = Mock(return_value=0)
    monkeypatch.setattr("kmapp.search.tasks.pack_codes", pack)
    assert MIN_CODED <= 64
    for number in (MIN_CODED - 1, 1):
        pack.assert_not_called()
        with acting(collection.account_id):
            index(collection, ["tea"] * number)
        pack_recent(collection.account_id, collection.name, at_least=1)
        with acting(collection.account_id):
            rows = IndexedDocument.objects.of(collection.account_id)
            rows.update(coding=IndexedDocument.Coding.WAITING)
        pack_vector_codes()
    pack.assert_called_once_with(collection.account_id, collection.name)
