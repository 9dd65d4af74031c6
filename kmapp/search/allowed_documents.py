"""Checks of documents in the index against a condition on their objects. Inside `acting`."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from kmapp.database.ids import IdText
from kmapp.database.raw_sql import fetch_all, fetch_prepared
from kmapp.search.allowed_objects import AllowedObjects, Collection
from kmapp.search.id_array_lookup import IdArray
from kmapp.search.posting_scores import Numbers
from kmapp.search.scan_method_choice import is_scan_faster

MAX_CHECKED = 5_000  # documents that are checked one by one

# A document is in both parts if it is packed meanwhile.
_LOOK_UP_SQL = """
SELECT d.document::text, d.number FROM (
  SELECT p.document, n.number FROM unnest(%s::int[]) AS n (number) CROSS JOIN LATERAL (
    SELECT document FROM search_indexeddocument
     WHERE account_id = %s AND collection = %s AND number = n.number OFFSET 0) p
  UNION
  SELECT p.document, p.number FROM unnest(%s::uuid[]) AS r (document) CROSS JOIN LATERAL (
    SELECT document, number FROM search_indexeddocument
     WHERE account_id = %s AND collection = %s AND document = r.document OFFSET 0) p
) d WHERE {allowed}
"""


def fetch_allowed(
    collection: Collection,
    within: AllowedObjects,
    recent: AbstractSet[IdText] | Sequence[IdText],
    numbers: Numbers | None,
) -> list[tuple[IdText, int | None]]:
    """Return id and number of the allowed ones of these documents; of all allowed ones if None.

    `recent` documents are not packed, the others have these `numbers`.
    """
    key: list[Any] = [collection.account_id, collection.name]
    # Without a form that lists them faster, the answer would change nothing, and it counts rows.
    if within.as_list is not None and is_scan_faster(collection, within):
        within = within.as_list
    if numbers is not None and len(numbers) <= MAX_CHECKED and within.reader_groups is not None:
        return fetch_prepared(
            _LOOK_UP_SQL.format(allowed=within.build_condition("d.document")),
            [
                *(IdArray(numbers.tolist()).array, *key),
                *(IdArray(recent).array, *key),
                *within.parameters,
            ],
        )
    conditions: dict[str, Any] = {}
    if numbers is not None:
        if len(numbers):
            conditions["d.number = ANY (%s::int[])"] = numbers.tolist()
        if recent:
            conditions["d.document = ANY (%s::uuid[])"] = IdArray(recent).array
        if not conditions:
            return []
    return fetch_all(
        "SELECT d.document::text, d.number FROM search_indexeddocument d "  # noqa: S608 - constants and a compiled queryset
        f"WHERE d.account_id = %s AND d.collection = %s AND d.document IN ({within.sql}) "
        f"AND ({' OR '.join(conditions) or 'true'})",
        [*key, *within.parameters, *conditions.values()],
    )
