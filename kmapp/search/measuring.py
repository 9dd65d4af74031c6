"""Exact figures of objects that were found, whichever index found them. Inside `acting`."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from uuid import UUID

from django.db import connection

from kmapp.search.fusion import TERMS
from kmapp.search.lookups import Ids
from kmapp.search.queries import SCORE, Collection, Meaning, Words, asked_for


@dataclass(frozen=True, slots=True, kw_only=True)
class Measures:
    """Exact figures of objects; one without a word or a ready vector is left out."""

    bm25: Mapping[UUID, float]
    holds: Mapping[UUID, int]  # a bit for each of the first terms of the query
    cosine: Mapping[UUID, float]  # of its best part
    beside: Mapping[UUID, float]  # of its vector in a second collection


def measured(
    collection: Collection,
    words: Words,
    meaning: Meaning | None,
    objects: Iterable[UUID],
    *,
    beside: str,
    near: Mapping[UUID, float] = MappingProxyType({}),
) -> Measures:
    """Every figure of these objects, whichever list they came from; `near` has cosines found."""
    wanted = list(objects)
    cosine, unknown = {}, []
    for each in wanted:
        if (figure := near.get(each)) is None:
            unknown.append(each)
        else:
            cosine[each] = figure
    these = Ids(wanted).array
    statement, parameters = _BM25_OF, [*asked_for(collection, words), these]
    if meaning:
        asked = {collection.name: Ids(unknown).array}
        asked.setdefault(beside, these)
        for name, ids in asked.items():
            statement += _COSINES_OF.format(distance=meaning.distance, model=meaning.model.pk)
            parameters += [meaning.literal, collection.account_id, name, ids]
    found: dict[str, dict[UUID, float]] = {"": {}, beside: {}, collection.name: cosine}
    holds: dict[UUID, int] = {}
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        for name, each, figure, held in cursor.fetchall():
            if math.isfinite(figure):
                found[name][each] = figure
            if held:
                holds[each] = held
    return Measures(bm25=found[""], holds=holds, cosine=cosine, beside=found[beside])


# Ids stand in a subquery: of an array that it sees, Postgres weighs each element while it plans.
_THESE = "ANY (ARRAY(SELECT unnest(%s::uuid[])))"
_BM25_OF = (
    f"SELECT '', p.document, {SCORE}, "  # noqa: S608 - constants
    f"coalesce(bit_or(1::bigint << (q.place - 1)::int) FILTER (WHERE q.place <= {TERMS}), 0) "
    "FROM unnest(%s::text[], %s::float8[]) WITH ORDINALITY AS q (term, idf, place) "
    "JOIN search_termposting p ON p.account_id = %s AND p.collection = %s AND p.term = q.term "
    f"WHERE p.document = {_THESE} GROUP BY p.document"
)
_COSINES_OF = (
    " UNION ALL SELECT collection, object_id, 1 - min({distance}), 0 FROM search_vector "  # noqa: S608
    "WHERE account_id = %s AND model_id = {model:d} AND collection = %s AND state = 'READY' "
    f"AND object_id = {_THESE} GROUP BY collection, object_id"
)
