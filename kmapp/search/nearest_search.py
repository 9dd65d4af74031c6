"""Search for the nearest vectors, in one statement. Inside `acting`.

`AllowedObjects` is inlined as a subquery, so that the planner sees its filters. Statements are
never prepared: a generic plan would use the index scan of a big account for a small one.
"""

import math
from collections.abc import Sequence
from operator import itemgetter
from typing import Any
from uuid import UUID

from kmapp.database.ids import IdText
from kmapp.database.raw_sql import fetch_all
from kmapp.search.allowed_objects import AllowedObjects, Collection
from kmapp.search.query_vector import QueryVector
from kmapp.search.scan_method_choice import is_scan_faster


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


def _fetch_finite(statement: str, parameters: Sequence[Any]) -> list[tuple[IdText, float]]:
    return [(row, score) for row, score in fetch_all(statement, parameters) if math.isfinite(score)]
