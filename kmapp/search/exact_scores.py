"""Exact scores of matches, whichever index found them. Inside `acting`."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from django.db import connection

from kmapp.database.ids import IdText
from kmapp.search.fusion import TERMS
from kmapp.search.lookups import Ids
from kmapp.search.queries import SCORE, Collection, Meaning, Words, bm25_parameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """Exact scores of objects; objects without a word or a ready vector are left out."""

    bm25: Mapping[IdText, float]
    holds: Mapping[IdText, int]  # a bit for each of the first terms of the query
    cosine: Mapping[IdText, float]  # of the best part
    context_collection: Mapping[IdText, float]  # cosine of the vector in a second collection


def load_exact_scores(
    collection: Collection,
    words: Words,
    meaning: Meaning | None,
    objects: Iterable[IdText],
    *,
    context_collection: str,
    approximate: Mapping[IdText, float] = MappingProxyType({}),
) -> Measures:
    """Return every score of these objects; `approximate` has cosines that are already computed."""
    object_ids = list(objects)
    cosine = {each: approximate[each] for each in object_ids if each in approximate}
    unknown = [each for each in object_ids if each not in cosine]
    with_clause, arms = "WITH these (ids) AS (SELECT %s::uuid[])", [_BM25_OF]
    parameters: list[Any] = [Ids(object_ids).array]
    query_parameters = bm25_parameters(collection, words)
    if meaning:
        with_clause += (
            f", unknown (ids) AS (SELECT %s::uuid[]), query (v) AS (SELECT %s::{meaning.size})"
        )
        parameters += [Ids(unknown).array, meaning.literal]
        for name, ids in {context_collection: "these", collection.name: "unknown"}.items():
            arms.append(_COSINES_OF.format(type=meaning.size, model=meaning.model.pk, ids=ids))
            query_parameters += [collection.account_id, name]
    scores_by_collection: dict[str, dict[IdText, float]] = {
        "": {},
        context_collection: {},
        collection.name: cosine,
    }
    holds: dict[IdText, int] = {}
    statement = f"{with_clause} {' UNION ALL '.join(arms)}"
    with connection.cursor() as cursor:
        cursor.execute(statement, [*parameters, *query_parameters])
        for name, each, figure, term_bits in cursor.fetchall():
            if math.isfinite(figure):
                scores_by_collection[name][each] = figure
            if term_bits:
                holds[each] = term_bits
    return Measures(
        bm25=scores_by_collection[""],
        holds=holds,
        cosine=cosine,
        context_collection=scores_by_collection[context_collection],
    )


# Ids and the vector are sent once, because Postgres takes longer to parse them than to use them.
# Ids are in a subquery, because of a visible array Postgres estimates each element while it plans.
_BM25_OF = (
    f"SELECT '', p.document::text, {SCORE}, "  # noqa: S608 - constants
    f"coalesce(bit_or(1::bigint << (q.place - 1)::int) FILTER (WHERE q.place <= {TERMS}), 0) "
    "FROM unnest(%s::text[], %s::float8[]) WITH ORDINALITY AS q (term, idf, place) "
    "JOIN search_termposting p ON p.account_id = %s AND p.collection = %s AND p.term = q.term "
    "WHERE p.document = ANY ((SELECT ids FROM these)::uuid[]) GROUP BY p.document"
)
_COSINES_OF = (
    "SELECT collection, object_id::text, 1 - min(embedding::{type} <=> (SELECT v FROM query)), 0 "
    "FROM search_vector WHERE account_id = %s AND model_id = {model:d} AND collection = %s "
    "AND state = 'READY' AND object_id = ANY ((SELECT ids FROM {ids})::uuid[]) "
    "GROUP BY collection, object_id"
)
