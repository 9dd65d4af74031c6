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

FEW = 30.0  # times the root of a collection's size: so many objects are measured one by one
REMEMBERED_SECONDS = 30  # how many there are moves slowly; counting them does not
SMALL = 1_000  # documents


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    """Texts of one account that are searched together."""

    account_id: UUID
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Within:
    """The objects that may be found, as a subquery."""

    sql: str
    parameters: Sequence[Any]
    one_by_one: bool = False  # each is measured, whatever an index could do

    @classmethod
    def of(cls, rows: "QuerySet[Any]") -> Self:
        try:
            sql, parameters = rows.order_by().values("pk").query.sql_with_params()
        except EmptyResultSet:  # Django sees that a condition can never hold
            return cls(sql="SELECT NULL::uuid WHERE false", parameters=())
        return cls(sql=sql, parameters=parameters)

    @classmethod
    def these(cls, ids: Iterable[UUID | IdText]) -> Self:
        """Objects that were chosen already."""
        return cls(sql="SELECT unnest(%s::uuid[])", parameters=[Ids(ids).array])


def restrict_to_ids(collection: Collection, within: Within) -> Within:
    """Return the condition with explicit ids, if there are few.

    For filters over several tables: Postgres expects one or two rows of a new account and would
    evaluate the filter again for each of its thousands of vectors.
    """
    few = _few(collection)
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT array_agg(id) FROM ({within.sql} LIMIT {few + 1}) AS allowed (id)",  # noqa: S608 - as below
            within.parameters,
        )
        ids = cursor.fetchone()[0] or []
    return replace(Within.these(ids), one_by_one=True) if len(ids) <= few else within


STATISTICS: Memo[tuple[int, float]] = Memo()
ARE_FEW: Memo[bool] = Memo()
COMMON: Memo[int] = Memo(most=10_000)


def forget_figures() -> None:
    """Count everything anew: another database is asked, or a test wants to see it asked."""
    for each in (STATISTICS, ARE_FEW, COMMON):
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
        idf=dict(sorted(idf.items(), key=lambda each: -each[1])),  # what says most comes first
        average_length=average_length,
    )


def _containing(collection: Collection, terms: Sequence[str]) -> dict[str, int]:
    """How many documents hold each term. Common ones take long to count, and are asked again."""
    containing = {term: COMMON.get((collection, term)) or 0 for term in terms}
    unknown = [term for term, cached in containing.items() if not cached]
    if not unknown:
        return containing
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT term, count(*) FROM search_termposting "
            "WHERE account_id = %s AND collection = %s AND term = ANY (%s) GROUP BY term",
            [collection.account_id, collection.name, unknown],
        )
        for term, count in cursor.fetchall():
            containing[term] = count
            if count > SMALL:
                COMMON.put((collection, term), count, seconds=REMEMBERED_SECONDS)
    return containing


def _statistics(collection: Collection) -> tuple[int, float]:
    """How many documents there are, and how long they are on average."""
    cached = STATISTICS.get(collection)
    if cached is None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*), coalesce(avg(dl), 1)::float8 FROM search_termposting "
                "WHERE account_id = %s AND collection = %s AND term = ''",
                [collection.account_id, collection.name],
            )
            row: tuple[int, float] = cursor.fetchone()
        # A small collection changes fast and is counted fast.
        seconds = REMEMBERED_SECONDS if row[0] > SMALL else 1
        cached = STATISTICS.put(collection, row, seconds=seconds)
    return cached


# The same sum as kmapp.search.bm25.score; a test holds the two together. Without the casts Postgres
# would reckon in decimal numbers, which takes longer than reading the postings.
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
    return _pairs(
        f"SELECT s.document::text, s.score FROM (SELECT p.document, {SCORE} AS score "  # noqa: S608 - constants and a compiled queryset
        "FROM unnest(%s::text[], %s::float8[]) AS q (term, idf) "
        "JOIN search_termposting p ON p.account_id = %s AND p.collection = %s AND p.term = q.term "
        "GROUP BY p.document ORDER BY score DESC, p.document) s "
        f"WHERE s.document IN ({within.sql}) ORDER BY s.score DESC, s.document LIMIT %s",
        [*bm25_parameters(collection, words), *within.parameters, limit],
    )


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
    literal: str  # the vector as SQL reads it

    @classmethod
    def of(cls, model: EmbeddingModel, vector: Sequence[float]) -> Self:
        # Postgres reads it anew for each statement: five digits say all that a half knows.
        digits = [f"{number:.5g}" for number in HalfVector(list(vector)).to_list()]
        return cls(model=model, literal=f"[{','.join(digits)}]")

    @property
    def size(self) -> str:
        """The type of the vectors, as SQL spells it."""
        return f"halfvec({self.model.dimensions:d})"

    @property
    def distance(self) -> str:
        """The one spelling of the distance that the index of the model knows."""
        return f"embedding::{self.size} <=> %s::{self.size}"


def nearest(
    collection: Collection, meaning: Meaning, *, within: Within, limit: int
) -> dict[IdText, float]:
    """Return the objects with the nearest vectors and the cosine of their best part.

    If few objects qualify, all are scanned: the index would pass many other objects for each match,
    which takes longer than the planner expects.
    """
    # The index knows the bare distance only.
    order_expression = (
        f"({meaning.distance}) + 0" if _are_few(collection, within) else meaning.distance
    )
    best: dict[IdText, float] = {}
    for row, distance in _rows(
        f"SELECT object_id::text, {order_expression} AS far FROM search_vector "  # noqa: S608 - see above
        f"WHERE account_id = %s AND model_id = {meaning.model.pk:d} AND collection = %s "
        f"AND state = 'READY' AND object_id IN ({within.sql}) ORDER BY far LIMIT %s",
        [
            meaning.literal,
            collection.account_id,
            collection.name,
            *within.parameters,
            limit,
        ],
    ):
        best.setdefault(row, 1 - distance)
    return best


def _few(collection: Collection) -> int:
    documents, _ = _statistics(collection)
    return int(FEW * math.sqrt(documents))


def _are_few(collection: Collection, within: Within) -> bool:
    """Whether measuring each takes less than the index would.

    That takes the longer the more it holds and the fewer of them count: both cost the same at
    about this multiple of the root of its size.
    """
    few = _few(collection)
    if within.one_by_one or _statistics(collection)[0] <= few:
        return True
    key = (collection, few, within.sql, repr(within.parameters))
    cached = ARE_FEW.get(key)
    if cached is None:
        with connection.cursor() as cursor:
            cursor.execute(
                f"SELECT count(*) FROM ({within.sql} LIMIT {few + 1}) AS allowed",  # noqa: S608 - as above
                within.parameters,
            )
            counted = int(cursor.fetchone()[0])
        cached = ARE_FEW.put(key, counted <= few, seconds=REMEMBERED_SECONDS)
    return cached


def _rows(statement: str, parameters: Sequence[Any]) -> list[tuple[IdText, float]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return [(row, score) for row, score in cursor.fetchall() if math.isfinite(score)]


def _pairs(statement: str, parameters: Sequence[Any]) -> dict[IdText, float]:
    return dict(_rows(statement, parameters))
