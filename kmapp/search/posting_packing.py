"""Packing of recent documents into arrays of postings, by a periodic task.

Both functions hold a lock of the collection. A process that changes a document waits for them.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.database.advisory_locks import lock_until_commit, try_lock_until_commit
from kmapp.database.psycopg_cursors import binary_cursor
from kmapp.database.raw_sql import fetch_all
from kmapp.search.packed_array_tables import NUMBER, POSTINGS, READER_GROUPS, Key, build_lock_name
from kmapp.search.posting_scores import BLOCK, POSTING, pack
from kmapp.search.vector_code_packing import remove_packed_codes

MIN_PACKED = 256  # recent documents of a collection; fewer are read one by one
MAX_PACKED = 1_024  # documents of one transaction; a changed document may wait for it
MAX_PURGED = 1_024  # documents of one transaction

# Each block starts after the one before: otherwise it would read again what was packed already,
# which an index contains until the next vacuum. Ordered by the column of the table, which an index
# sorts: `document` alone would be the text that is selected.
_RECENT = """
SELECT document::text, length, terms::json FROM search_indexeddocument
 WHERE account_id = %s AND collection = %s AND document > %s AND number IS NULL
 ORDER BY search_indexeddocument.document LIMIT %s FOR UPDATE SKIP LOCKED
"""
# The first free number of the first block with room at its end: blocks whose documents were all
# removed are used again.
_FREE_NUMBER = """
WITH blocks AS (
  SELECT b * %(size)s AS first, (b + 1) * %(size)s - 1 AS last FROM generate_series(0,
    coalesce(greatest(
      (SELECT max(number) FROM search_indexeddocument
        WHERE account_id = %(account)s AND collection = %(collection)s AND number IS NOT NULL),
      (SELECT max(number) FROM search_removeddocument
        WHERE account_id = %(account)s AND collection = %(collection)s)), 0) / %(size)s + 1) b
)
SELECT free.number, last - free.number + 1 FROM blocks, LATERAL (SELECT 1 + greatest(first - 1,
  (SELECT max(d.number) FROM search_indexeddocument d WHERE d.account_id = %(account)s
      AND d.collection = %(collection)s AND d.number BETWEEN first AND last),
  (SELECT max(r.number) FROM search_removeddocument r WHERE r.account_id = %(account)s
      AND r.collection = %(collection)s AND r.number BETWEEN first AND last)) AS number) free
WHERE free.number <= last ORDER BY free.number LIMIT 1
"""
_NUMBER = """
UPDATE search_indexeddocument d SET number = n.number
  FROM unnest(%s::uuid[], %s::int[]) AS n (document, number)
 WHERE d.account_id = %s AND d.collection = %s AND d.document = n.document
"""
_REMOVED = """
DELETE FROM search_removeddocument WHERE (account_id, collection, number) IN (
  SELECT account_id, collection, number FROM search_removeddocument
   WHERE account_id = %s AND collection = %s LIMIT %s)
RETURNING number, terms, reader_group
"""


def pack_recent(account_id: UUID, collection: str, *, at_least: int = MIN_PACKED) -> int:
    """Pack the recent documents of a collection, and return their number.

    Return early while another process packs the same collection.
    """
    total, after = 0, str(UUID(int=0))
    while packed := _pack_block(account_id, collection, at_least, after):
        total, after = total + len(packed), packed[-1]
    return total


def _pack_block(account_id: UUID, collection: str, at_least: int, after: str) -> list[str]:
    """Pack the first recent documents after this one into one block, and return them."""
    with acting(account_id), binary_cursor() as cursor:
        if not try_lock_until_commit(build_lock_name(account_id, collection)):
            return []
        rows = cursor.execute(_RECENT, [account_id, collection, after, MAX_PACKED]).fetchall()
        if len(rows) < max(at_least, 1):
            return []
        key: Mapping[str, Any] = {"account": account_id, "collection": collection, "size": BLOCK}
        [(first, room)] = cursor.execute(_FREE_NUMBER, key).fetchall()
        rows = rows[:room]
        by_key = defaultdict[Key, list[tuple[int, int, int]]](list)
        for number, (_, length, frequencies) in enumerate(rows, first):
            for term, frequency in frequencies.items():
                by_key[term, first // BLOCK].append((number, length, frequency))
        documents, numbers = [row[0] for row in rows], list(range(first, first + len(rows)))
        cursor.execute(_NUMBER, [documents, numbers, account_id, collection])
        packed = {each: pack(postings) for each, postings in by_key.items()}
        POSTINGS.append(cursor, (account_id, collection), packed)
    return documents


def purge_removed(account_id: UUID, collection: str) -> int:
    """Delete removed documents from packed postings, and return their number."""
    total = 0
    while purged := _purge_block(account_id, collection):
        total += purged
    return total


def _purge_block(account_id: UUID, collection: str) -> int:
    with acting(account_id), binary_cursor() as cursor:
        lock_until_commit(build_lock_name(account_id, collection))
        rows = cursor.execute(_REMOVED, [account_id, collection, MAX_PURGED]).fetchall()
        by_key = defaultdict[Key, list[int]](list)
        reader_groups = defaultdict[Key, list[int]](list)
        for number, terms, reader_group in rows:
            if reader_group:
                reader_groups[reader_group, number // BLOCK].append(number)
            for term in terms:
                by_key[term, number // BLOCK].append(number)
        key = (account_id, collection)
        if reader_groups:
            READER_GROUPS.remove(cursor, key, reader_groups, NUMBER)
            remove_packed_codes(cursor, key, reader_groups)
        POSTINGS.remove(cursor, key, by_key, POSTING)
    return len(rows)


def list_unpacked(at_least: int = MIN_PACKED) -> list[tuple[UUID, str]]:
    """Return the accounts and collections with so many recent documents, or with removed ones."""
    return fetch_all("SELECT account_id, collection FROM unpacked_collections(%s)", [at_least])
