"""Reading the indexes, inside `acting`. Each function is one statement; callers say what counts.

`Within` is inlined as a subquery, so that the planner sees its filters. Statements are never
prepared: a generic plan would give a small account the big one's index scan.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self
from uuid import UUID

from django.core.cache import cache
from django.db import connection
from django.db.models import QuerySet
from pgvector import HalfVector

from kmapp.providers.models import EmbeddingModel
from kmapp.search import bm25
from kmapp.search.lookups import Ids

FEW = 30.0  # times the root of a collection's size: so many objects are measured one by one
STATISTICS_SECONDS = 30  # N and the average length move slowly; counting them does not


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

    @classmethod
    def of(cls, rows: "QuerySet[Any]") -> Self:
        sql, parameters = rows.order_by().values("pk").query.sql_with_params()
        return cls(sql=sql, parameters=parameters)


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """A query's terms, each with its idf in this collection."""

    idf: Mapping[str, float]
    average_length: float

    @property
    def idf_sum(self) -> float:
        return sum(self.idf.values())


def weigh(collection: Collection, terms: Sequence[str]) -> Words:
    """What each distinct term of a query says here. Terms found nowhere say most, of nothing."""
    documents, average_length = _statistics(collection)
    containing = dict.fromkeys(terms, 0)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT term, count(*) FROM search_termposting "
            "WHERE account_id = %s AND collection = %s AND term = ANY (%s) GROUP BY term",
            [collection.account_id, collection.name, list(containing)],
        )
        containing.update(cursor.fetchall())
    return Words(
        idf={term: bm25.idf(max(documents, count), count) for term, count in containing.items()},
        average_length=average_length,
    )


def _statistics(collection: Collection) -> tuple[int, float]:
    """How many documents there are, and how long they are on average."""
    key = f"bm25:{collection.account_id}:{collection.name}"
    known: tuple[int, float] | None = cache.get(key)
    if known is None:
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*), coalesce(avg(dl), 1)::float8 FROM search_termposting "
                "WHERE account_id = %s AND collection = %s AND term = ''",
                [collection.account_id, collection.name],
            )
            known = cursor.fetchone()
        # A small collection changes fast and is counted fast.
        cache.set(key, known, STATISTICS_SECONDS if known[0] > 1000 else 1)  # noqa: PLR2004
    return known


# The same sum as kmapp.search.bm25.score; a test holds the two together. Without the casts Postgres
# would reckon in decimal numbers, which takes longer than reading the postings.
_SCORE = (
    f"sum(q.idf * p.tf * {bm25.K1 + 1}::float8 / "
    f"(p.tf + {bm25.K1}::float8 * ({1 - bm25.B}::float8 + {bm25.B}::float8 * p.dl / %s::float8)))"
)


def best_by_words(
    collection: Collection, words: Words, *, within: Within, limit: int
) -> dict[UUID, float]:
    """The documents with the highest BM25.

    All documents with a word are scored from the postings alone, then checked best first until
    there are enough: so few rows of `within` are read, however common the words are.
    """
    if not words.idf:
        return {}
    return _pairs(
        f"SELECT s.document, s.score FROM (SELECT p.document, {_SCORE} AS score "  # noqa: S608 - constants and a compiled queryset
        "FROM unnest(%s::text[], %s::float8[]) AS q (term, idf) "
        "JOIN search_termposting p ON p.account_id = %s AND p.collection = %s AND p.term = q.term "
        "GROUP BY p.document ORDER BY score DESC, p.document) s "
        f"WHERE s.document IN ({within.sql}) ORDER BY s.score DESC, s.document LIMIT %s",
        [*_terms(collection, words), *within.parameters, limit],
    )


def bm25_of(collection: Collection, words: Words, documents: Sequence[UUID]) -> dict[UUID, float]:
    """The exact BM25 of given documents; those without any of the words are left out."""
    if not words.idf or not documents:
        return {}
    return _pairs(
        f"SELECT p.document, {_SCORE} AS score "  # noqa: S608 - constants
        "FROM unnest(%s::text[], %s::float8[]) AS q (term, idf) "
        "JOIN search_termposting p ON p.account_id = %s AND p.collection = %s AND p.term = q.term "
        "WHERE p.document = ANY (%s::uuid[]) GROUP BY p.document",
        [*_terms(collection, words), Ids(documents).array],
    )


def _terms(collection: Collection, words: Words) -> list[Any]:
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
        return cls(model=model, literal=HalfVector(list(vector)).to_text())

    @property
    def distance(self) -> str:
        """The one spelling of the distance that the index of the model knows."""
        size = f"halfvec({self.model.dimensions:d})"
        return f"embedding::{size} <=> %s::{size}"


def nearest(
    collection: Collection, meaning: Meaning, *, within: Within, limit: int
) -> dict[UUID, float]:
    """The objects whose vectors are nearest, with their cosine: that of their best part.

    Where few objects count, each is measured. The index would walk past many others for each of
    them, which takes longer than the planner thinks.
    """
    distance = meaning.distance
    # The index knows the bare distance only.
    order = f"({distance}) + 0" if _are_few(collection, within) else distance
    best: dict[UUID, float] = {}
    for found, cosine in _rows(
        f"SELECT object_id, 1 - ({distance}) FROM search_vector "  # noqa: S608 - see above
        f"WHERE account_id = %s AND model_id = {meaning.model.pk:d} AND collection = %s "
        f"AND state = 'READY' AND object_id IN ({within.sql}) ORDER BY {order} LIMIT %s",
        [
            meaning.literal,
            collection.account_id,
            collection.name,
            *within.parameters,
            meaning.literal,
            limit,
        ],
    ):
        best.setdefault(found, cosine)
    return best


def _are_few(collection: Collection, within: Within) -> bool:
    """Whether measuring each takes less than the index would.

    That takes the longer the more it holds and the fewer of them count: both cost the same at
    about this multiple of the root of its size.
    """
    documents, _ = _statistics(collection)
    few = FEW * math.sqrt(documents)
    if documents <= few:
        return True
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT count(*) FROM ({within.sql} LIMIT {few + 1:.0f}) AS allowed",  # noqa: S608 - as above
            within.parameters,
        )
        return int(cursor.fetchone()[0]) <= few


def cosines_of(
    account_id: UUID, collections: Sequence[str], meaning: Meaning, objects: Sequence[UUID]
) -> dict[str, dict[UUID, float]]:
    """The exact cosine of given objects in each collection; without a ready vector, none."""
    found: dict[str, dict[UUID, float]] = {name: {} for name in collections}
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT collection, object_id, 1 - min({meaning.distance}) FROM search_vector "  # noqa: S608 - see above
            f"WHERE account_id = %s AND model_id = {meaning.model.pk:d} AND collection = ANY (%s) "
            "AND state = 'READY' AND object_id = ANY (%s::uuid[]) GROUP BY collection, object_id",
            [meaning.literal, account_id, list(collections), Ids(objects).array],
        )
        for collection, found_id, cosine in cursor.fetchall():
            if math.isfinite(cosine):
                found[collection][found_id] = cosine
    return found


def _rows(statement: str, parameters: Sequence[Any]) -> list[tuple[UUID, float]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return [(found, score) for found, score in cursor.fetchall() if math.isfinite(score)]


def _pairs(statement: str, parameters: Sequence[Any]) -> dict[UUID, float]:
    return dict(_rows(statement, parameters))
