"""Search among the documents of a viewer's reader groups, from packed arrays. Inside `acting`.

A reader group contains more than a viewer may see, such as expired memories, so each result is
also checked against the rows. What no array contains yet is read from its own rows.
"""

import math
from typing import Any, NamedTuple
from uuid import UUID

import numpy as np

from kmapp.database.ids import IdText
from kmapp.database.psycopg_cursors import binary_cursor
from kmapp.database.raw_sql import fetch_prepared
from kmapp.search import nearest_search
from kmapp.search.allowed_objects import AllowedObjects, Collection
from kmapp.search.id_array_lookup import IdArray
from kmapp.search.packed_array_reads import ArrayFormat, ArrayRead, SizeLimit
from kmapp.search.packed_array_tables import CODES, NUMBER, READER_GROUPS, unpack_numbers
from kmapp.search.posting_scores import PackedNumbers
from kmapp.search.query_vector import QueryVector
from kmapp.search.scan_method_choice import compute_scan_limit, load_statistics
from kmapp.search.vector_codes import Coder, Codes, build_code_type, unpack_codes

# Bytes of codes beyond which the index is used: of those that a search compares, and of those that
# a transaction loads which has written and therefore caches nothing.
MAX_CODES_SIZE, MAX_UNCACHED_SIZE = 64_000_000, 4_000_000
MAX_WAITING = 2_000  # documents without packed codes that are compared one by one
GROUP_ARRAYS = ArrayFormat(READER_GROUPS, NUMBER.itemsize, lambda packed: (unpack_numbers(packed),))

_CODES_SQL = """
SELECT name, directory, content, is_committed, NULL::bytea, NULL::uuid[] FROM ({packed}) packed
UNION ALL
SELECT NULL, NULL, NULL, NULL, centre, ARRAY(
    SELECT d.document FROM unnest(%s::text[]) AS g (name) CROSS JOIN LATERAL (
      SELECT document FROM search_indexeddocument WHERE account_id = %s AND collection = %s
         AND coding = 1 AND reader_group = g.name OFFSET 0) d LIMIT %s)
  FROM search_codecentre WHERE account_id = %s AND collection = %s AND model_id = %s
"""
# For the subqueries of each key, see `kmapp.database.psycopg_cursors`. GROUP BY leaves out
# documents without a vector.
_COMPARE_SQL = """
SELECT c.document::text, c.distance, count(*) OVER () FROM (
  SELECT d.document, n.distance
    FROM (SELECT p.document FROM unnest(%s::int[]) AS n (number) CROSS JOIN LATERAL (
            SELECT document FROM search_indexeddocument
             WHERE account_id = %s AND collection = %s AND number = n.number OFFSET 0) p
          UNION SELECT unnest(%s::uuid[])) d
   CROSS JOIN LATERAL (
      SELECT min(v.{distance}) AS distance FROM search_vector v
       WHERE v.account_id = %s AND v.collection = %s AND v.model_id = {model:d}
         AND v.state = 'READY' AND v.object_id = d.document GROUP BY v.object_id OFFSET 0) n
   ORDER BY n.distance, d.document LIMIT %s::int) c
 WHERE {allowed} ORDER BY c.distance, c.document LIMIT %s
"""


class _Attempt(NamedTuple):
    """How many documents an attempt reads for each result.

    If fewer than `required` are allowed, some of the nearest may not be among the compared ones.
    """

    compared: int  # exactly
    checked: float  # the nearest of these, against the rows
    required: float


ATTEMPTS = (
    _Attempt(compared=4, checked=1.5, required=1.125),
    _Attempt(compared=32, checked=32, required=3),
)


class _PackedCodes(NamedTuple):
    """The codes of a viewer's reader groups, and the documents that wait for theirs."""

    coder: Coder
    codes: list[Codes]
    waiting: list[UUID]


class ComparedDocuments(NamedTuple):
    """Documents that are compared exactly."""

    numbers: list[int]
    waiting: list[UUID]


def can_use_reader_groups(collection: Collection, within: AllowedObjects) -> bool:
    """Return whether to read packed arrays; few objects are listed one by one."""
    documents, _ = load_statistics(collection)
    return (
        within.reader_groups is not None
        and not within.is_scanned
        and documents > compute_scan_limit(collection)
    )


def load_reader_group_numbers(
    collection: Collection, within: AllowedObjects
) -> list[PackedNumbers]:
    """Return the numbers of the packed documents of the reader groups, in no order."""
    key = (collection.account_id, collection.name)
    read = ArrayRead(GROUP_ARRAYS, key, within.reader_groups or ())
    with binary_cursor(prepares=True) as cursor:
        cursor.execute(read.sql, read.parameters)
        return [numbers for (numbers,) in read.finish(cursor.fetchall()).values()]


def find_nearest_in_reader_groups(
    collection: Collection, meaning: QueryVector, *, within: AllowedObjects, limit: int
) -> dict[IdText, float]:
    """Return the objects with the nearest vectors and the cosine of their best part.

    Codes choose the vectors that are compared. Without codes, or if too few of the chosen objects
    are allowed, all allowed objects are searched; see `kmapp.search.nearest_search.find_nearest`.
    """
    if can_use_reader_groups(collection, within):
        best = _find_nearest_by_codes(collection, meaning, within, limit)
        if best is not None:
            return best
    return nearest_search.find_nearest(collection, meaning, within=within, limit=limit)


def _find_nearest_by_codes(
    collection: Collection, meaning: QueryVector, within: AllowedObjects, limit: int
) -> dict[IdText, float] | None:
    packed = _load_codes(collection, meaning, list(within.reader_groups or ()))
    if packed is None:
        return None
    query, count = meaning.as_array(), sum(map(len, packed.codes))
    for attempt in ATTEMPTS:
        compared = attempt.compared * limit
        numbers = packed.coder.find_nearest(packed.codes, query, compared)
        are_all_compared = compared >= count
        best, allowed = _compare(
            collection,
            meaning,
            within,
            ComparedDocuments(numbers, packed.waiting),
            limit=limit,
            checked=None if are_all_compared else int(attempt.checked * limit),
        )
        if are_all_compared or allowed >= attempt.required * limit:
            return best
    return None


def _load_codes(
    collection: Collection, meaning: QueryVector, reader_groups: list[str]
) -> _PackedCodes | None:
    """Return the codes of the reader groups, or None if there are none or too many."""
    key: list[Any] = [collection.account_id, collection.name]
    model = meaning.model
    limit = SizeLimit(MAX_CODES_SIZE, MAX_UNCACHED_SIZE)
    read = ArrayRead(_build_code_format(model.dimensions), (*key, model.pk), reader_groups, limit)
    with read.take_turns(), binary_cursor(prepares=True) as cursor:
        cursor.execute(
            _CODES_SQL.format(packed=read.sql),
            [*read.parameters, reader_groups, *key, MAX_WAITING + 1, *key, model.pk],
        )
        rows = cursor.fetchall()
        packed = [row[:4] for row in rows if row[0] is not None]
        codes = [Codes(*columns) for columns in read.finish(packed).values()]
    size = sum(map(len, codes)) * read.format.item_size
    if not codes or len(codes) < len(packed) or size > MAX_CODES_SIZE:
        return None
    for name, *_, centre, waiting in rows:
        if name is None and len(waiting) <= MAX_WAITING:
            return _PackedCodes(Coder(np.frombuffer(centre, dtype="<f4")), codes, waiting)
    return None


def _build_code_format(dimensions: int) -> ArrayFormat:
    size = build_code_type(dimensions).itemsize
    return ArrayFormat(CODES, size, lambda packed: unpack_codes(packed, dimensions).columns)


def _compare(
    collection: Collection,
    meaning: QueryVector,
    within: AllowedObjects,
    documents: ComparedDocuments,
    *,
    limit: int,
    checked: int | None,
) -> tuple[dict[IdText, float], int]:
    """Return the nearest allowed documents with their cosines, and how many are allowed.

    Only the `checked` nearest documents are checked, or all.
    """
    key: list[Any] = [collection.account_id, collection.name]
    statement = _COMPARE_SQL.format(
        distance=meaning.distance_sql,
        model=meaning.model.pk,
        allowed=within.build_condition("c.document"),
    )
    rows = fetch_prepared(
        statement,
        [
            *(IdArray(documents.numbers).array, *key, IdArray(documents.waiting).array),
            *(meaning.literal, *key, checked, *within.parameters, limit),
        ],
    )
    best = {pk: 1 - distance for pk, distance, _ in rows if math.isfinite(distance)}
    return best, rows[0][2] if rows else 0
