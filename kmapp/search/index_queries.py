"""Index queries, one statement per function. Inside `acting`.

`AllowedObjects` is inlined as a subquery, so that the planner sees its filters. Statements are
never prepared: a generic plan would give a small account the big one's index scan.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from operator import itemgetter
from typing import Any, Self
from uuid import UUID

import numpy as np
from django.core.exceptions import EmptyResultSet
from django.db.models import QuerySet
from numpy.typing import NDArray
from pgvector import HalfVector

from kmapp.database.ids import IdText
from kmapp.database.raw_sql import fetch_all
from kmapp.providers.models import EmbeddingModel
from kmapp.runtime.process_caches import TtlCache
from kmapp.search.id_arrays import IdArray

SCAN_FACTOR = 30.0  # times the root of a collection's size: up to so many objects are scanned
CACHE_SECONDS = 30  # counts change slowly, and counting is slow
MAX_CACHE_SECONDS = 1_800  # seconds; counts above `SMALL_COUNT` are cached longer
SMALL_COUNT = 1_000  # documents


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
    as_list: "AllowedObjects | None" = None  # the same, if another form lists them faster
    reader_groups: tuple[str, ...] | None = None  # of which they are a part, if that is known

    @classmethod
    def from_queryset(cls, rows: "QuerySet[Any]") -> Self:
        try:
            sql, parameters = rows.order_by().values("pk").query.sql_with_params()
        except EmptyResultSet:  # a condition is never true
            return cls(sql="SELECT NULL::uuid WHERE false", parameters=())
        return cls(sql=sql, parameters=parameters)

    @classmethod
    def from_parts(cls, parts: Iterable[Self]) -> Self:
        """Join disjoint parts; each may have its own index, which a condition with OR has not."""
        parts = list(parts)
        return cls(
            sql=" UNION ALL ".join(each.sql for each in parts),
            parameters=[parameter for each in parts for parameter in each.parameters],
        )

    @classmethod
    def from_ids(cls, ids: Iterable[UUID | IdText]) -> Self:
        return cls(sql="SELECT unnest(%s::uuid[])", parameters=[IdArray(ids).array])


def restrict_to_ids(collection: Collection, within: AllowedObjects) -> AllowedObjects:
    """Return the condition with explicit ids, if there are few.

    For filters over several tables: Postgres expects one or two rows of a new account and would
    evaluate the filter again for each of its thousands of vectors.
    """
    scan_limit = compute_scan_limit(collection)
    [(ids,)] = fetch_all(
        f"SELECT array_agg(id) FROM ({within.sql} LIMIT {scan_limit + 1}) AS allowed (id)",  # noqa: S608 - as below
        within.parameters,
    )
    ids = ids or []
    return (
        replace(AllowedObjects.from_ids(ids), is_scanned=True) if len(ids) <= scan_limit else within
    )


STATISTICS_CACHE: TtlCache[tuple[int, float]] = TtlCache()
ALLOWED_COUNT_CACHE: TtlCache[int] = TtlCache()


def clear_query_caches() -> None:
    """Clear the caches, for another database or a test."""
    STATISTICS_CACHE.clear()
    ALLOWED_COUNT_CACHE.clear()


def compute_cache_seconds(count: int) -> float:
    """Return how long to cache a count: the longer it takes, the less of it changes in a time."""
    return min(CACHE_SECONDS * count / SMALL_COUNT, MAX_CACHE_SECONDS)


def load_statistics(collection: Collection) -> tuple[int, float]:
    statistics = STATISTICS_CACHE.get(collection)
    if statistics is None:
        row: tuple[int, float]
        [row] = fetch_all(
            "SELECT count(*), coalesce(avg(length), 1)::float8 FROM search_indexeddocument "
            "WHERE account_id = %s AND collection = %s",
            [collection.account_id, collection.name],
        )
        # A small collection changes fast and is counted fast.
        seconds = compute_cache_seconds(row[0]) if row[0] > SMALL_COUNT else 1
        statistics = STATISTICS_CACHE.put(collection, row, seconds=seconds)
    return statistics


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

    def as_array(self) -> "NDArray[np.float32]":
        return np.array(self.literal[1:-1].split(","), dtype=np.float32)

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
    scan = ""
    if is_scan_faster(collection, within):
        within = within.as_list or within
        scan = "+ 0"  # with which the expression does not match the index
    parameters = [collection.account_id, collection.name, *within.parameters, other_than, limit]
    rows = _fetch_finite(
        f"SELECT object_id::text, ({meaning.distance_sql}) {scan} AS distance FROM search_vector "  # noqa: S608 - see above
        f"WHERE account_id = %s AND model_id = {meaning.model.pk:d} AND collection = %s "
        f"AND state = 'READY' AND object_id IN ({within.sql}) "
        "AND object_id IS DISTINCT FROM %s::uuid ORDER BY distance LIMIT %s",
        [meaning.literal, *parameters],
    )
    best: dict[IdText, float] = {}
    for object_id, distance in sorted(rows, key=itemgetter(1)):  # the index orders them roughly
        best.setdefault(object_id, 1 - distance)
    return best


def compute_scan_limit(collection: Collection) -> int:
    """Return up to how many allowed objects a scan is faster than the index."""
    documents, _ = load_statistics(collection)
    return int(SCAN_FACTOR * math.sqrt(documents))


def is_scan_faster(collection: Collection, within: AllowedObjects) -> bool:
    """Return whether a scan is faster than the index.

    The index is slower the more vectors it has and the fewer of them qualify. Both take equally
    long at about this multiple of the root of the collection's size.
    """
    scan_limit = compute_scan_limit(collection)
    if within.is_scanned or load_statistics(collection)[0] <= scan_limit:
        return True
    return count_allowed(collection, within) <= scan_limit


def count_allowed(collection: Collection, within: AllowedObjects) -> int:
    """Return the number of allowed objects, counted up to one more than a scan may have."""
    count_limit = compute_scan_limit(collection) + 1
    within = within.as_list or within
    # A digest, because a filter may have a megabyte of values.
    condition = f"{within.sql}{within.parameters!r}".encode(errors="replace")
    key = (collection, count_limit, sha256(condition).digest())
    count = ALLOWED_COUNT_CACHE.get(key)
    if count is None:
        [(counted,)] = fetch_all(
            f"SELECT count(*) FROM ({within.sql} LIMIT {count_limit}) AS allowed",  # noqa: S608 - as above
            within.parameters,
        )
        count = ALLOWED_COUNT_CACHE.put(key, counted, seconds=CACHE_SECONDS)
    return count


def _fetch_finite(statement: str, parameters: Sequence[Any]) -> list[tuple[IdText, float]]:
    return [(row, score) for row, score in fetch_all(statement, parameters) if math.isfinite(score)]
