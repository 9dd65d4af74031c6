"""Look-ups by key, which are prepared, return the same as one condition on all keys."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.database.ids import uuid7
from kmapp.database.raw_sql import fetch_all
from kmapp.providers.active_models import active_model
from kmapp.search import reader_group_search
from kmapp.search.allowed_documents import fetch_allowed
from kmapp.search.allowed_objects import Collection
from kmapp.search.exact_scores import load_exact_scores
from kmapp.search.id_array_lookup import IdArray
from kmapp.search.models import Vector
from kmapp.search.query_vector import QueryVector
from kmapp.search.reader_group_search import ComparedDocuments
from kmapp.search.word_search import load_weighted_terms, score_by_words
from kmapp.text.terms import extract_terms
from memory.models import MemoryEntry, Viewer
from memory.models.entries import COLLECTION, CONTEXT_COLLECTION
from memory.models.entry_input import NewEntry
from memory.retrieval.candidates import EVIDENCE_TYPES, _load_surroundings
from memory.retrieval.search import SearchRequest, build_allowed_objects
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
ALLOWED_SQL = """
SELECT d.document::text, d.number FROM search_indexeddocument d
 WHERE d.account_id = %s AND d.collection = %s AND d.document IN ({within})
   AND (d.number = ANY (%s::int[]) OR d.document = ANY (%s::uuid[]))
"""
NEAREST_SQL = """
SELECT v.object_id::text, 1 - min(v.{distance}) FROM search_vector v
 WHERE v.account_id = %s AND v.collection = %s AND v.model_id = {model} AND v.state = 'READY'
   AND v.object_id IN ({within}) AND v.object_id IN (
     SELECT document FROM search_indexeddocument
      WHERE account_id = %s AND collection = %s AND number = ANY (%s::int[])
     UNION SELECT unnest(%s::uuid[]))
 GROUP BY v.object_id
"""
EDGES_SQL = (
    "FROM memory_memoryedge WHERE account_id = %s AND type = ANY (%s) "
    "AND (origin = 'written' OR type NOT IN ('related_to', 'mentions'))"
)
SURROUNDINGS_SQL = f"""
WITH ids AS (
  SELECT e.id FROM memory_memoryentry e
   WHERE e.account_id = %s AND e.id IN ({{within}}) AND e.id IN (
    SELECT unnest(%s::uuid[])
    UNION SELECT src_id {EDGES_SQL} AND dst_id = ANY (%s::uuid[])
    UNION SELECT dst_id {EDGES_SQL} AND src_id = ANY (%s::uuid[])))
SELECT id::text, NULL FROM ids
UNION ALL SELECT src_id::text, dst_id::text {EDGES_SQL}
   AND src_id IN (SELECT id FROM ids) AND dst_id IN (SELECT id FROM ids)
"""  # noqa: S608 - constants
VIEWERS = [Viewer(), Viewer(user_id="ann"), Viewer(user_id="bob", agent_id="helper")]


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


@pytest.mark.parametrize("viewer", VIEWERS)
def test_allowed_documents(packed: Account, viewer: Viewer) -> None:
    ids = list_ids(packed)
    expired = {"pk__in": ids[::5]}
    makers.update(MemoryEntry, packed, expired, expires_at="2020-01-01T00:00:00Z")
    collection = Collection(account_id=packed.pk, name=COLLECTION)
    within = build_allowed_objects(packed.pk, SearchRequest(query="tea", viewer=viewer))
    within = replace(within, as_list=None)  # as `find_best_by_words` does
    sql = ALLOWED_SQL.format(within=within.sql)
    key: list[Any] = [packed.pk, COLLECTION]
    arguments: list[tuple[list[int], list[str]]] = [
        ([*range(0, 60, 2)], ids[20:]),  # some are in both, and some numbers are unused
        ([*range(40)], []),
        ([], ids),
        ([], []),
    ]
    with acting(packed):
        for numbers, recent in arguments * EXECUTIONS:
            values = [*key, *within.parameters, numbers, IdArray(recent).array]
            rows = fetch_allowed(collection, within, recent, np.array(numbers, dtype=np.int64))
            assert dict(rows) == dict(fetch_all(sql, values))
            assert len(rows) == len(dict(rows))
            assert bool(rows) == bool(numbers or recent)


@pytest.mark.parametrize("viewer", VIEWERS)
def test_nearest_documents(packed: Account, meaning: QueryVector, viewer: Viewer) -> None:
    ids = list_ids(packed)
    waiting = [UUID(pk) for pk in ids[30:]]
    numbers = [*range(0, 60, 2)]
    collection = Collection(account_id=packed.pk, name=COLLECTION)
    within = build_allowed_objects(packed.pk, SearchRequest(query="tea", viewer=viewer))
    key: list[Any] = [packed.pk, COLLECTION]

    def list_cosines(within_sql: str, parameters: Sequence[Any]) -> dict[str, float]:
        sql = NEAREST_SQL.format(
            within=within_sql, distance=meaning.distance_sql, model=meaning.model.pk
        )
        documents = [*key, numbers, IdArray(waiting).array]
        return dict(fetch_all(sql, [meaning.literal, *key, *parameters, *documents]))

    compare = partial(
        reader_group_search._compare,  # noqa: SLF001
        collection,
        meaning,
        within,
        ComparedDocuments(numbers, waiting),
    )
    with acting(packed):
        expected = list_cosines(within.sql, within.parameters)
        compared = list_cosines("SELECT id FROM memory_memoryentry", ())
        assert len(compared) > len(expected) > 3
        for _ in range(EXECUTIONS):
            best, allowed = compare(limit=100, checked=None)
            assert (best, allowed) == (expected, len(expected))
            few, allowed = compare(limit=3, checked=None)
            assert list(few.values()) == sorted(expected.values(), reverse=True)[:3]
            assert allowed == len(expected)
            nearest, allowed = compare(limit=100, checked=len(compared) // 2)
            half = sorted(compared, key=lambda pk: -compared[pk])[: len(compared) // 2]
            assert nearest == {pk: expected[pk] for pk in half if pk in expected}
            assert allowed == len(nearest)


@pytest.mark.parametrize("viewer", [*VIEWERS, Viewer(agent_id="helper")])
def test_surroundings(packed: Account, viewer: Viewer) -> None:
    """Neighbours of seeds in both directions, of which the viewer cannot see some."""
    names = [f"{user}-{number}" for user in ("ann", "bob", "") for number in range(6)]
    entries = [
        NewEntry(
            text=f"Note {name}.", client_id=name, user_id=name[:-2], metadata={"speaker": "Ann"}
        )
        for name in names
    ]
    pairs = [(number, (number * 5 + 7) % len(names)) for number in range(len(names))]
    edges = [
        makers.edge(kind, names[one], names[other])
        for (one, other), kind in zip(
            pairs, ("part_of", "derived_from", "mentions") * 6, strict=True
        )
        if one // 6 == other // 6 or 2 in (one // 6, other // 6)  # not between two users
    ]
    ids = [str(entry.pk) for entry in makers.write(packed, *entries, edges=edges)]
    seeds, candidates = ids[::2], [*ids[4:14], *list_ids(packed)[:9]]  # some edges of each viewer
    within = build_allowed_objects(packed.pk, SearchRequest(query="tea", viewer=viewer))
    condition = [packed.pk, list(EVIDENCE_TYPES)]
    literal = IdArray(seeds).array
    values = [
        *(packed.pk, *within.parameters, IdArray(candidates).array),
        *(*condition, literal, *condition, literal, *condition),
    ]
    with acting(packed):
        rows = fetch_all(SURROUNDINGS_SQL.format(within=within.sql), values)
        expected = {pk for pk, other in rows if other is None}
        joined = {frozenset(row) for row in rows if row[1] is not None}
        contents = {str(entry.pk): entry.content for entry in MemoryEntry.objects.of(packed)}
        for _ in range(EXECUTIONS):
            surroundings, adjacent, links = _load_surroundings(
                packed.pk, within, candidates, [*seeds, *seeds]
            )
            assert surroundings.keys() == expected
            for pk, (_run, text, *_) in surroundings.items():
                assert text.removeprefix("Ann: ") == contents[pk]
            assert {frozenset((pk, each)) for pk in links for each in links[pk]} == joined
            assert adjacent == {}
    assert expected
    assert joined
