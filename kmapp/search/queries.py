"""Index queries, one statement per function. Inside `acting`.

`AllowedObjects` is inlined as a subquery, so that the planner sees its filters. Statements are
never prepared: a generic plan would give a small account the big one's index scan.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self
from uuid import UUID

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import QuerySet
from pgvector import HalfVector

from kmapp.database.ids import IdText
from kmapp.providers.models import EmbeddingModel
from kmapp.search import bm25
from kmapp.search.lookups import IdArray
from kmapp.search.ttl_cache import TtlCache

SCAN_FACTOR = 30.0  # times the root of a collection's size: up to so many objects are scanned
CACHE_SECONDS = 30  # counts change slowly, and counting is slow
MAX_CACHE_SECONDS = 1_800  # seconds; counts above `SMALL_COUNT` are cached longer
SMALL_COUNT = 1_000  # documents
CHECKED_PER_RESULT = 4  # documents checked against a filter for each result


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    account_id: UUID
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedObjects:
    """The objects that a search may return, as a subquery."""

    sql: str
    parameters: Sequence[Any]
    is_scanned: bool = False  # scan them without the index

    @classmethod
    def from_queryset(cls, rows: "QuerySet[Any]") -> Self:
        try:
            sql, parameters = rows.order_by().values("pk").query.sql_with_params()
        except EmptyResultSet:  # a condition is never true
            return cls(sql="SELECT NULL::uuid WHERE false", parameters=())
        return cls(sql=sql, parameters=parameters)

    @classmethod
    def from_ids(cls, ids: Iterable[UUID | IdText]) -> Self:
        return cls(sql="SELECT unnest(%s::uuid[])", parameters=[IdArray(ids).array])


def restrict_to_ids(collection: Collection, within: AllowedObjects) -> AllowedObjects:
    """Return the condition with explicit ids, if there are few.

    For filters over several tables: Postgres expects one or two rows of a new account and would
    evaluate the filter again for each of its thousands of vectors.
    """
    scan_limit = _compute_scan_limit(collection)
    [(ids,)] = _fetch(
        f"SELECT array_agg(id) FROM ({within.sql} LIMIT {scan_limit + 1}) AS allowed (id)",  # noqa: S608 - as below
        within.parameters,
    )
    ids = ids or []
    return (
        replace(AllowedObjects.from_ids(ids), is_scanned=True) if len(ids) <= scan_limit else within
    )


STATISTICS_CACHE: TtlCache[tuple[int, float]] = TtlCache()
SCAN_DECISION_CACHE: TtlCache[bool] = TtlCache()
TERM_COUNT_CACHE: TtlCache[int] = TtlCache(max_entries=10_000)


def clear_query_caches() -> None:
    """Clear the caches, for another database or a test."""
    for each in (STATISTICS_CACHE, SCAN_DECISION_CACHE, TERM_COUNT_CACHE):
        each.clear()


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedTerms:
    """A query's terms, each with its idf in this collection."""

    idf: Mapping[str, float]
    average_length: float


def load_weighted_terms(collection: Collection, terms: Sequence[str]) -> WeightedTerms:
    """Return the weight of each distinct query term. Unknown terms weigh most but match nothing."""
    documents, average_length = _load_statistics(collection)
    term_counts = bm25.drop_unknown_terms(_count_documents(collection, terms)).items()
    idf = {term: bm25.idf(max(documents, count), count) for term, count in term_counts}
    return WeightedTerms(
        idf=dict(sorted(idf.items(), key=lambda each: -each[1])),  # rarest first
        average_length=average_length,
    )


def _count_documents(collection: Collection, terms: Sequence[str]) -> dict[str, int]:
    """Return how many documents contain each term. Counts of common terms are cached."""
    counts = {term: TERM_COUNT_CACHE.get((collection, term)) or 0 for term in terms}
    uncached_terms = [term for term, cached in counts.items() if not cached]
    if uncached_terms:
        rows = _fetch(
            "SELECT term, count(*) FROM search_termposting "
            "WHERE account_id = %s AND collection = %s AND term = ANY (%s) GROUP BY term",
            [collection.account_id, collection.name, uncached_terms],
        )
        for term, count in rows:
            counts[term] = count
            if count > SMALL_COUNT:
                TERM_COUNT_CACHE.put((collection, term), count, seconds=_cache_seconds(count))
    return counts


def _cache_seconds(count: int) -> float:
    """Return how long to cache a count: the longer it takes, the less of it changes in a time."""
    return min(CACHE_SECONDS * count / SMALL_COUNT, MAX_CACHE_SECONDS)


def _load_statistics(collection: Collection) -> tuple[int, float]:
    statistics = STATISTICS_CACHE.get(collection)
    if statistics is None:
        row: tuple[int, float]
        [row] = _fetch(
            "SELECT count(*), coalesce(avg(dl), 1)::float8 FROM search_termposting "
            "WHERE account_id = %s AND collection = %s AND term = ''",
            [collection.account_id, collection.name],
        )
        # A small collection changes fast and is counted fast.
        seconds = _cache_seconds(row[0]) if row[0] > SMALL_COUNT else 1
        statistics = STATISTICS_CACHE.put(collection, row, seconds=seconds)
    return statistics


# The same sum as kmapp.search.bm25.score; a test compares both. Without the casts, Postgres would
# use decimal arithmetic, which takes longer than reading the postings.
SCORE_SQL = (
    f"sum(q.idf * p.tf * {bm25.K1 + 1}::float8 / "
    f"(p.tf + {bm25.K1}::float8 * ({1 - bm25.B}::float8 + {bm25.B}::float8 * p.dl / %s::float8)))"
)


def find_best_by_words(
    collection: Collection, words: WeightedTerms, *, within: AllowedObjects, limit: int
) -> dict[IdText, float]:
    """Return the documents with the highest BM25 scores.

    All documents with one of the words are scored from the postings, then checked against `within`,
    best first, until there are enough. Few rows of `within` are read even for common words.
    """
    if not words.idf:
        return {}
    # Sorting takes as long as scoring, so only the best are sorted, unless most are filtered out.
    if not is_scan_faster(collection, within):
        best = _fetch_best(collection, words, within, limit, max_scored=limit * CHECKED_PER_RESULT)
        if len(best) == limit:
            return best
    return _fetch_best(collection, words, within, limit, max_scored=None)


def _fetch_best(
    collection: Collection,
    words: WeightedTerms,
    within: AllowedObjects,
    limit: int,
    max_scored: int | None,
) -> dict[IdText, float]:
    """Return the best of the `max_scored` documents with the highest scores; None: of all."""
    rows = _fetch_finite(
        f"SELECT s.document::text, s.score FROM (SELECT p.document, {SCORE_SQL} AS score "  # noqa: S608 - constants and a compiled queryset
        "FROM unnest(%s::text[], %s::float8[]) AS q (term, idf) "
        "JOIN search_termposting p ON p.account_id = %s AND p.collection = %s AND p.term = q.term "
        "GROUP BY p.document ORDER BY score DESC, p.document LIMIT %s) s "
        f"WHERE s.document IN ({within.sql}) ORDER BY s.score DESC, s.document LIMIT %s",
        [*build_bm25_parameters(collection, words), max_scored, *within.parameters, limit],
    )
    return dict(rows)


def build_bm25_parameters(collection: Collection, words: WeightedTerms) -> list[Any]:
    """Return the parameters of `SCORE_SQL` and a join with the postings of these words."""
    return [
        max(words.average_length, 1.0),
        list(words.idf),
        list(words.idf.values()),
        collection.account_id,
        collection.name,
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryVector:
    """A query's vector, and the model whose vectors it can be compared with."""

    model: EmbeddingModel
    literal: str  # the vector in SQL

    @classmethod
    def from_floats(cls, model: EmbeddingModel, vector: Sequence[float]) -> Self:
        # Postgres parses it for each statement. Five digits are exact enough for half precision.
        digits = [f"{number:.5g}" for number in HalfVector(list(vector)).to_list()]
        return cls(model=model, literal=f"[{','.join(digits)}]")

    @property
    def sql_type(self) -> str:
        return f"halfvec({self.model.dimensions:d})"

    @property
    def distance_sql(self) -> str:
        """Return the distance in SQL, in the only form that matches the model's index."""
        return f"embedding::{self.sql_type} <=> %s::{self.sql_type}"


def find_nearest(
    collection: Collection,
    meaning: QueryVector,
    *,
    within: AllowedObjects,
    limit: int,
    other_than: UUID | None = None,
) -> dict[IdText, float]:
    """Return the objects with the nearest vectors and the cosine of their best part.

    If few objects qualify, all are scanned: the index would pass many other objects for each match,
    which takes longer than the planner expects.
    """
    # With `+ 0`, the expression does not match the index.
    scan = "+ 0" if is_scan_faster(collection, within) else ""
    parameters = [collection.account_id, collection.name, *within.parameters, other_than, limit]
    rows = _fetch_finite(
        f"SELECT object_id::text, ({meaning.distance_sql}) {scan} AS distance FROM search_vector "  # noqa: S608 - see above
        f"WHERE account_id = %s AND model_id = {meaning.model.pk:d} AND collection = %s "
        f"AND state = 'READY' AND object_id IN ({within.sql}) "
        "AND object_id IS DISTINCT FROM %s::uuid ORDER BY distance LIMIT %s",
        [meaning.literal, *parameters],
    )
    best: dict[IdText, float] = {}
    for object_id, distance in rows:
        best.setdefault(object_id, 1 - distance)
    return best


def _compute_scan_limit(collection: Collection) -> int:
    documents, _ = _load_statistics(collection)
    return int(SCAN_FACTOR * math.sqrt(documents))


def is_scan_faster(collection: Collection, within: AllowedObjects) -> bool:
    """Return whether a scan is faster than the index.

    The index is slower the more vectors it has and the fewer of them qualify. Both take equally
    long at about this multiple of the root of the collection's size.
    """
    scan_limit = _compute_scan_limit(collection)
    if within.is_scanned or _load_statistics(collection)[0] <= scan_limit:
        return True
    key = (collection, scan_limit, within.sql, repr(within.parameters))
    is_faster = SCAN_DECISION_CACHE.get(key)
    if is_faster is None:
        [(count,)] = _fetch(
            f"SELECT count(*) FROM ({within.sql} LIMIT {scan_limit + 1}) AS allowed",  # noqa: S608 - as above
            within.parameters,
        )
        is_faster = SCAN_DECISION_CACHE.put(key, count <= scan_limit, seconds=CACHE_SECONDS)
    return is_faster


def _fetch(statement: str, parameters: Sequence[Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())


def _fetch_finite(statement: str, parameters: Sequence[Any]) -> list[tuple[IdText, float]]:
    return [(row, score) for row, score in _fetch(statement, parameters) if math.isfinite(score)]
