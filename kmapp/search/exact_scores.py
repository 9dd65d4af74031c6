"""Exact scores of matches, whichever index found them. Inside `acting`."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from kmapp.database.ids import IdText
from kmapp.database.raw_sql import fetch_prepared
from kmapp.search.allowed_objects import Collection
from kmapp.search.id_array_lookup import IdArray
from kmapp.search.query_vector import QueryVector
from kmapp.search.word_search import WeightedTerms, score_by_words


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
    with_clause, selects = "WITH these (id) AS (SELECT unnest(%s::uuid[]))", [_NUMBERS_SQL]
    parameters: list[Any] = [IdArray(object_ids).array]
    query_parameters: list[Any] = [collection.account_id, collection.name]
    if meaning:
        with_clause += (
            ", unknown (id) AS (SELECT unnest(%s::uuid[])), "
            f"query (v) AS (SELECT %s::{meaning.sql_type})"
        )
        parameters += [IdArray(unknown_ids).array, meaning.literal]
        for name, ids in {context_collection: "these", collection.name: "unknown"}.items():
            selects.append(
                _COSINES_SQL.format(type=meaning.sql_type, model=meaning.model.pk, ids=ids)
            )
            query_parameters += [name, collection.account_id, name]
    values: dict[str, dict[IdText, float]] = {
        "": {},
        context_collection: {},
        collection.name: cosines,
    }
    statement = f"{with_clause} {' UNION ALL '.join(selects)}"
    for name, each, value in fetch_prepared(statement, [*parameters, *query_parameters]):
        if math.isfinite(value):
            values[name][each] = value
    numbers = {each: int(number) for each, number in values[""].items()}
    bm25, term_mask = score_by_words(words, object_ids, numbers)
    return ExactScores(
        bm25=bm25,
        term_mask=term_mask,
        cosine=cosines,
        context_collection=values[context_collection],
    )


# Ids and the vector are sent once, because Postgres takes longer to parse them than to use them.
# For the subqueries of each id, see `kmapp.database.psycopg_cursors`. Without IS NOT NULL inside,
# because an index of all numbers of the account would match it. GROUP BY leaves out objects without
# a vector.
_NUMBERS_SQL = """
SELECT '', o.id::text, d.number::float8 FROM these o CROSS JOIN LATERAL (
  SELECT number FROM search_indexeddocument
   WHERE account_id = %s AND collection = %s AND document = o.id OFFSET 0) d
 WHERE d.number IS NOT NULL
"""
_COSINES_SQL = """
SELECT %s::text, o.id::text, n.cosine FROM {ids} o CROSS JOIN LATERAL (
  SELECT 1 - min(embedding::{type} <=> (SELECT v FROM query)) AS cosine FROM search_vector
   WHERE account_id = %s AND model_id = {model:d} AND collection = %s AND state = 'READY'
     AND object_id = o.id GROUP BY object_id OFFSET 0) n
"""
