"""The nearest neighbours of many objects at once. Inside `acting`."""

import math
from collections.abc import Mapping
from uuid import UUID

from kmapp.database.ids import IdText
from kmapp.database.raw_sql import fetch_all
from kmapp.search.allowed_objects import AllowedObjects, Collection
from kmapp.search.nearest_search import find_nearest
from kmapp.search.query_vector import QueryVector
from kmapp.search.scan_method_choice import is_scan_faster


def find_nearest_of_each(
    collection: Collection,
    meanings: Mapping[UUID, QueryVector],
    *,
    within: AllowedObjects,
    limit: int,
) -> dict[UUID, dict[IdText, float]]:
    """Return the nearest other objects of each of these objects, by its id; see `find_nearest`.

    If few objects qualify, their vectors are read once for all.
    """
    if is_scan_faster(collection, within):
        return _scan_for_each(collection, meanings, within, limit)
    return {
        pk: find_nearest(collection, meaning, within=within, limit=limit, other_than=pk)
        for pk, meaning in meanings.items()
    }


def _scan_for_each(
    collection: Collection, meanings: Mapping[UUID, QueryVector], within: AllowedObjects, limit: int
) -> dict[UUID, dict[IdText, float]]:
    best: dict[UUID, dict[IdText, float]] = {pk: {} for pk in meanings}
    model = next(iter(meanings.values())).model
    literals = [meaning.literal for meaning in meanings.values()]
    parameters = [collection.account_id, collection.name, *within.parameters]
    rows = fetch_all(
        "WITH allowed AS MATERIALIZED (SELECT object_id, embedding FROM search_vector "  # noqa: S608 - a number and a compiled queryset
        f"WHERE account_id = %s AND model_id = {model.pk:d} AND collection = %s "
        f"AND state = 'READY' AND object_id IN ({within.sql})) "
        "SELECT query.id, near.object_id::text, near.distance "
        "FROM unnest(%s::uuid[], %s::halfvec[]) AS query (id, embedding) CROSS JOIN LATERAL ("
        "  SELECT object_id, allowed.embedding <=> query.embedding AS distance FROM allowed "
        "  WHERE object_id <> query.id ORDER BY distance LIMIT %s) near ORDER BY near.distance",
        [*parameters, list(meanings), literals, limit],
    )
    for pk, object_id, distance in rows:
        if math.isfinite(distance):
            best[pk].setdefault(object_id, 1 - distance)
    return best
