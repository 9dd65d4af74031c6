"""Index queries, one statement per function. Inside `acting`.

`Within` is inlined as a subquery, so that the planner sees its filters. Statements are never
prepared: a generic plan would give a small account the big one's index scan.
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
from kmapp.search.lookups import Ids
from kmapp.search.ttl_cache import Memo

SCAN_FACTOR = 30.0  # times the root of a collection's size: up to so many objects are scanned
CACHE_SECONDS = 30  # counts change slowly, and counting is slow
LONGEST_CACHE = 1_800  # seconds; counts above `SMALL` are cached longer
SMALL = 1_000  # documents
SPARE = 4  # documents checked against a filter for each result


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    account_id: UUID
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Within:
    """The objects that may be found, as a subquery."""

    sql: str
    parameters: Sequence[Any]
    one_by_one: bool = False  # scan them without the index

    @classmethod
    def of(cls, rows: "QuerySet[Any]") -> Self:
        try:
            sql, parameters = rows.order_by().values("pk").query.sql_with_params()
        except EmptyResultSet:  # a condition is never true
            return cls(sql="SELECT NULL::uuid WHERE false", parameters=())
        return cls(sql=sql, parameters=parameters)

    @classmethod
    def these(cls, ids: Iterable[UUID | IdText]) -> Self:
        return cls(sql="SELECT unnest(%s::uuid[])", parameters=[Ids(ids).array])


def restrict_to_ids(collection: Collection, within: Within) -> Within:
    """Return the condition with explicit ids, if there are few.

    For filters over several tables: Postgres expects one or two rows of a new account and would
    evaluate the filter again for each of its thousands of vectors.
    """
    few = _scan_limit(collection)
    [(ids,)] = _fetch(
        f"SELECT array_agg(id) FROM ({within.sql} LIMIT {few + 1}) AS allowed (id)",  # noqa: S608 - as below
        within.parameters,
    )
    ids = ids or []
    return replace(Within.these(ids), one_by_one=True) if len(ids) <= few else within


STATISTICS: Memo[tuple[int, float]] = Memo()
SCAN_DECISIONS: Memo[bool] = Memo()
COMMON: Memo[int] = Memo(most=10_000)


def clear_query_caches() -> None:
    """Clear the caches, for another database or a test."""
    for each in (STATISTICS, SCAN_DECISIONS, COMMON):
        each.forget()


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """A query's terms, each with its idf in this collection."""

    idf: Mapping[str, float]
    average_length: float


def weigh(collection: Collection, terms: Sequence[str]) -> Words:
    """Return the weight of each distinct query term. Unknown terms weigh most but match nothing."""
    documents, average_length = _statistics(collection)
    term_counts = bm25.drop_unknown_terms(_containing(collection, terms)).items()
    idf = {term: bm25.idf(max(documents, count), count) for term, count in term_counts}
    return Words(
        idf=dict(sorted(idf.items(), key=lambda each: -each[1])),  # rarest first
        average_length=average_length,
    )


def _containing(collection: Collection, terms: Sequence[str]) -> dict[str, int]:
    """Return how many documents contain each term. Counts of common terms are cached."""
    containing = {term: COMMON.get((collection, term)) or 0 for term in terms}
    unknown = [term for term, cached in containing.items() if not cached]
    if unknown:
        rows = _fetch(
            "SELECT term, count(*) FROM search_termposting "
            "WHERE account_id = %s AND collection = %s AND term = ANY (%s) GROUP BY term",
            [collection.account_id, collection.name, unknown],
        )
        for term, count in rows:
            containing[term] = count
            if count > SMALL:
                COMMON.put((collection, term), count, seconds=_cache_seconds(count))
    return containing


def _cache_seconds(count: int) -> float:
    """Return how long to cache a count: the longer it takes, the less of it changes in a time."""
    return min(CACHE_SECONDS * count / SMALL, LONGEST_CACHE)


def _statistics(collection: Collection) -> tuple[int, float]:
    cached = STATISTICS.get(collection)
    if cached is None:
        row: tuple[int, float]
        [row] = _fetch(
            "SELECT count(*), coalesce(avg(dl), 1)::float8 FROM search_termposting "
            "WHERE account_id = %s AND collection = %s AND term = ''",
            [collection.account_id, collection.name],
        )
        # A small collection changes fast and is counted fast.
        seconds = _cache_seconds(row[0]) if row[0] > SMALL else 1
        cached = STATISTICS.put(collection, row, seconds=seconds)
    return cached


# The same sum as kmapp.search.bm25.score; a test compares both. Without the casts, Postgres would
# use decimal arithmetic, which takes longer than reading the postings.
SCORE = (
    f"sum(q.idf * p.tf * {bm25.K1 + 1}::float8 / "
    f"(p.tf + {bm25.K1}::float8 * ({1 - bm25.B}::float8 + {bm25.B}::float8 * p.dl / %s::float8)))"
)


def best_by_words(
    collection: Collection, words: Words, *, within: Within, limit: int
) -> dict[IdText, float]:
    """Return the documents with the highest BM25 scores.

    All documents with one of the words are scored from the postings, then checked against `within`,
    best first, until there are enough. Few rows of `within` are read even for common words.
    """
    if not words.idf:
        return {}
    # Sorting takes as long as scoring, so only the best are sorted, unless most are filtered out.
    if not _is_scan_faster(collection, within):
        best = _best_of(collection, words, within, limit, most=limit * SPARE)
        if len(best) == limit:
            return best
    return _best_of(collection, words, within, limit, most=None)


def _best_of(
    collection: Collection, words: Words, within: Within, limit: int, most: int | None
) -> dict[IdText, float]:
    """Return the best of the `most` documents with the highest scores; None: of all."""
    rows = _finite(
        f"SELECT s.document::text, s.score FROM (SELECT p.document, {SCORE} AS score "  # noqa: S608 - constants and a compiled queryset
        "FROM unnest(%s::text[], %s::float8[]) AS q (term, idf) "
        "JOIN search_termposting p ON p.account_id = %s AND p.collection = %s AND p.term = q.term "
        "GROUP BY p.document ORDER BY score DESC, p.document LIMIT %s) s "
        f"WHERE s.document IN ({within.sql}) ORDER BY s.score DESC, s.document LIMIT %s",
        [*bm25_parameters(collection, words), most, *within.parameters, limit],
    )
    return dict(rows)


def bm25_parameters(collection: Collection, words: Words) -> list[Any]:
    """Return the parameters of `SCORE` and a join with the postings of these words."""
    return [
        max(words.average_length, 1.0),
        list(words.idf),
        list(words.idf.values()),
        collection.account_id,
        collection.name,
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """A query's vector, and the model whose vectors it can be compared with."""

    model: EmbeddingModel
    literal: str  # the vector in SQL

    @classmethod
    def of(cls, model: EmbeddingModel, vector: Sequence[float]) -> Self:
        # Postgres parses it for each statement. Five digits are exact enough for half precision.
        digits = [f"{number:.5g}" for number in HalfVector(list(vector)).to_list()]
        return cls(model=model, literal=f"[{','.join(digits)}]")

    @property
    def size(self) -> str:
        return f"halfvec({self.model.dimensions:d})"

    @property
    def distance(self) -> str:
        """Return the distance in SQL, in the only form that matches the model's index."""
        return f"embedding::{self.size} <=> %s::{self.size}"


def nearest(
    collection: Collection,
    meaning: Meaning,
    *,
    within: Within,
    limit: int,
    other_than: UUID | None = None,
) -> dict[IdText, float]:
    """Return the objects with the nearest vectors and the cosine of their best part.

    If few objects qualify, all are scanned: the index would pass many other objects for each match,
    which takes longer than the planner expects.
    """
    # With `+ 0`, the expression does not match the index.
    scan = "+ 0" if _is_scan_faster(collection, within) else ""
    parameters = [collection.account_id, collection.name, *within.parameters, other_than, limit]
    rows = _finite(
        f"SELECT object_id::text, ({meaning.distance}) {scan} AS far FROM search_vector "  # noqa: S608 - see above
        f"WHERE account_id = %s AND model_id = {meaning.model.pk:d} AND collection = %s "
        f"AND state = 'READY' AND object_id IN ({within.sql}) "
        "AND object_id IS DISTINCT FROM %s::uuid ORDER BY far LIMIT %s",
        [meaning.literal, *parameters],
    )
    best: dict[IdText, float] = {}
    for object_id, distance in rows:
        best.setdefault(object_id, 1 - distance)
    return best


def _scan_limit(collection: Collection) -> int:
    documents, _ = _statistics(collection)
    return int(SCAN_FACTOR * math.sqrt(documents))


def _is_scan_faster(collection: Collection, within: Within) -> bool:
    """Return whether a scan is faster than the index.

    The index is slower the more vectors it has and the fewer of them qualify. Both take equally
    long at about this multiple of the root of the collection's size.
    """
    few = _scan_limit(collection)
    if within.one_by_one or _statistics(collection)[0] <= few:
        return True
    key = (collection, few, within.sql, repr(within.parameters))
    cached = SCAN_DECISIONS.get(key)
    if cached is None:
        [(counted,)] = _fetch(
            f"SELECT count(*) FROM ({within.sql} LIMIT {few + 1}) AS allowed",  # noqa: S608 - as above
            within.parameters,
        )
        cached = SCAN_DECISIONS.put(key, counted <= few, seconds=CACHE_SECONDS)
    return cached


def _fetch(statement: str, parameters: Sequence[Any]) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())


def _finite(statement: str, parameters: Sequence[Any]) -> list[tuple[IdText, float]]:
    return [(row, score) for row, score in _fetch(statement, parameters) if math.isfinite(score)]
