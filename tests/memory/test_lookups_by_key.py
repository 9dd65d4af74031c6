"""Look-ups by key, which are prepared, return the same as one condition on all keys."""

from typing import Any

import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.database.ids import uuid7
from kmapp.database.raw_sql import fetch_all
from kmapp.providers.active_models import active_model
from kmapp.search.allowed_objects import Collection
from kmapp.search.exact_scores import load_exact_scores
from kmapp.search.id_array_lookup import IdArray
from kmapp.search.models import Vector
from kmapp.search.query_vector import QueryVector
from kmapp.search.word_search import load_weighted_terms, score_by_words
from kmapp.text.terms import extract_terms
from memory.models import MemoryEntry
from memory.models.entries import COLLECTION, CONTEXT_COLLECTION
from tests import makers

EXECUTIONS = 8  # after which PostgreSQL may have chosen a plan for unknown values
NUMBERS_SQL = """
SELECT document::text, number FROM search_indexeddocument
 WHERE account_id = %s AND collection = %s AND number IS NOT NULL AND document = ANY (%s::uuid[])
"""
COSINES_SQL = """
SELECT object_id::text, 1 - min(embedding::{type} <=> %s::{type}) FROM search_vector
 WHERE account_id = %s AND model_id = {model} AND collection = %s AND state = 'READY'
   AND object_id = ANY (%s::uuid[]) GROUP BY object_id
"""


@pytest.fixture
def meaning(packed: Account) -> QueryVector:
    row = makers.rows(Vector, packed, collection=COLLECTION)[0]
    assert row.embedding is not None
    return QueryVector.from_floats(active_model(), [*row.embedding])


def list_ids(account: Account) -> list[str]:
    """Return the ids of all memories, of one whose words are not packed, and an unknown one."""
    makers.write(account, "Rain again, and tea.", user_id="ann")
    return [str(entry.pk) for entry in makers.rows(MemoryEntry, account)] + [str(uuid7())]


def load_cosines(
    collection: Collection, meaning: QueryVector, name: str, ids: list[str]
) -> dict[str, float]:
    statement = COSINES_SQL.format(type=meaning.sql_type, model=meaning.model.pk)
    parameters: list[Any] = [meaning.literal, collection.account_id, name, IdArray(ids).array]
    return dict(fetch_all(statement, parameters))


def test_exact_scores(packed: Account, meaning: QueryVector) -> None:
    ids = list_ids(packed)
    collection = Collection(account_id=packed.pk, name=COLLECTION)
    with acting(packed):
        embedded = sorted(load_cosines(collection, meaning, COLLECTION, ids))
    vectors = {"collection": COLLECTION, "object_id__in": embedded[:9]}
    makers.update(Vector, packed, vectors, collection=CONTEXT_COLLECTION)
    computed = {embedded[10]: 0.5, embedded[11]: 0.25}
    with acting(packed):
        words = load_weighted_terms(collection, extract_terms("Does rain matter to ann?"))
        numbers = dict(fetch_all(NUMBERS_SQL, [packed.pk, COLLECTION, IdArray(ids).array]))
        bm25, term_mask = score_by_words(words, ids, numbers)
        cosines = load_cosines(collection, meaning, COLLECTION, ids)
        context = load_cosines(collection, meaning, CONTEXT_COLLECTION, ids)
        assert (len(numbers), len(bm25) > 2, len(cosines), len(context)) == (36, True, 27, 9)
        for _ in range(EXECUTIONS):
            scores = load_exact_scores(
                collection,
                words,
                meaning,
                ids,
                context_collection=CONTEXT_COLLECTION,
                computed_cosines=computed,
            )
            assert (scores.bm25, scores.term_mask) == (bm25, term_mask)
            assert scores.cosine == cosines | computed
            assert scores.context_collection == context
        without = load_exact_scores(collection, words, None, ids, context_collection="none")
        assert (without.bm25, without.term_mask) == (bm25, term_mask)


def test_exact_scores_if_both_collections_are_the_same(
    packed: Account, meaning: QueryVector
) -> None:
    ids = list_ids(packed)
    collection = Collection(account_id=packed.pk, name=COLLECTION)
    with acting(packed):
        words = load_weighted_terms(collection, ["tea"])
        scores = load_exact_scores(
            collection, words, meaning, ids, context_collection=collection.name
        )
        assert scores.cosine == load_cosines(collection, meaning, COLLECTION, ids)
