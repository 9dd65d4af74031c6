"""Exact scores of matches, whichever index found them. Inside `acting`."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from django.db import connection

from kmapp.database.ids import IdText
from kmapp.search.bm25 import K1, B
from kmapp.search.fusion import MAX_MASK_TERMS
from kmapp.search.lookups import IdArray
from kmapp.search.queries import Collection, QueryVector
from kmapp.search.word_queries import WeightedTerms


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactScores:
    """Exact scores of objects; objects without a word or a ready vector are left out."""

    bm25: Mapping[IdText, float]
    term_mask: Mapping[IdText, int]  # a bit for each of the first terms of the query
    cosine: Mapping[IdText, float]  # of the best part
    context_collection: Mapping[IdText, float]  # cosine of the vector in a second collection


def load_exact_scores(
    collection: Collection,
    words: WeightedTerms,
    meaning: QueryVector | None,
    objects: Iterable[IdText],
    *,
    context_collection: str,
    computed_cosines: Mapping[IdText, float] = MappingProxyType({}),
) -> ExactScores:
    """Return every score of these objects, except cosines that `computed_cosines` already has."""
    object_ids = list(objects)
    cosines = {each: computed_cosines[each] for each in object_ids if each in computed_cosines}
    unknown_ids = [each for each in object_ids if each not in cosines]
    with_clause, selects = "WITH these (ids) AS (SELECT %s::uuid[])", [_BM25_SQL]
    parameters: list[Any] = [IdArray(object_ids).array]
    query_parameters: list[Any] = [
        max(words.average_length, 1.0),
        *(list(words.idf), list(words.idf.values()), collection.account_id, collection.name),
    ]
    if meaning:
        with_clause += (
            f", unknown (ids) AS (SELECT %s::uuid[]), query (v) AS (SELECT %s::{meaning.sql_type})"
        )
        parameters += [IdArray(unknown_ids).array, meaning.literal]
        for name, ids in {context_collection: "these", collection.name: "unknown"}.items():
            selects.append(
                _COSINES_SQL.format(type=meaning.sql_type, model=meaning.model.pk, ids=ids)
            )
            query_parameters += [collection.account_id, name]
    scores_by_collection: dict[str, dict[IdText, float]] = {
        "": {},
        context_collection: {},
        collection.name: cosines,
    }
    term_masks: dict[IdText, int] = {}
    statement = f"{with_clause} {' UNION ALL '.join(selects)}"
    with connection.cursor() as cursor:
        cursor.execute(statement, [*parameters, *query_parameters])
        for name, each, score, term_bits in cursor.fetchall():
            if math.isfinite(score):
                scores_by_collection[name][each] = score
            if term_bits:
                term_masks[each] = term_bits
    return ExactScores(
        bm25=scores_by_collection[""],
        term_mask=term_masks,
        cosine=cosines,
        context_collection=scores_by_collection[context_collection],
    )


# Ids and the vector are sent once, because Postgres takes longer to parse them than to use them.
# Ids are in a subquery, because of a visible array Postgres estimates each element while it plans.
# The same sum as kmapp.search.bm25.score; a test compares both. Without the casts, Postgres would
# use decimal arithmetic, which takes longer than reading the documents.
_BM25_SQL = (
    f"SELECT '', d.document::text, sum(q.idf * t.tf * {K1 + 1}::float8 / "  # noqa: S608 - constants
    f"(t.tf + {K1}::float8 * ({1 - B}::float8 + {B}::float8 * d.length / %s::float8))), "
    f"coalesce(bit_or(1::bigint << (q.place - 1)::int) FILTER (WHERE q.place <= {MAX_MASK_TERMS}), "
    "0) "
    "FROM unnest(%s::text[], %s::float8[]) WITH ORDINALITY AS q (term, idf, place) "
    "JOIN search_indexeddocument d ON d.account_id = %s AND d.collection = %s AND d.terms ? q.term "
    "CROSS JOIN LATERAL (SELECT (d.terms->>q.term)::int AS tf) t "
    "WHERE d.document = ANY ((SELECT ids FROM these)::uuid[]) GROUP BY d.document"
)
_COSINES_SQL = (
    "SELECT collection, object_id::text, 1 - min(embedding::{type} <=> (SELECT v FROM query)), 0 "
    "FROM search_vector WHERE account_id = %s AND model_id = {model:d} AND collection = %s "
    "AND state = 'READY' AND object_id = ANY ((SELECT ids FROM {ids})::uuid[]) "
    "GROUP BY collection, object_id"
)
