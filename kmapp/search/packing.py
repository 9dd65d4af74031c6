"""Packing of recent documents into arrays of postings, by a periodic task.

Both functions hold a lock of the collection. A process that changes a document waits for them.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db import connection

from kmapp.accounts.acting import acting
from kmapp.database.advisory_locks import lock_until_commit, try_lock_until_commit
from kmapp.database.cursors import binary_cursor
from kmapp.search.code_packing import remove_packed_codes
from kmapp.search.packed_arrays import (
    Key,
    build_columns,
    build_lock_name,
    remove_packed_numbers,
    split_keys,
)
from kmapp.search.postings import BLOCK, pack, remove_numbers

MIN_PACKED = 256  # recent documents of a collection; fewer are read one by one
MAX_PACKED = 1_024  # documents of one transaction; a changed document may wait for it
MAX_PURGED = 1_024  # documents of one transaction

_RECENT = """
SELECT document::text, length, terms::json FROM search_indexeddocument
 WHERE account_id = %s AND collection = %s AND number IS NULL
 ORDER BY document LIMIT %s FOR UPDATE SKIP LOCKED
"""
# The first free number of the first block with room at its end: blocks whose documents were all
# removed are used again.
_FREE_NUMBER = """
WITH blocks AS (
  SELECT b * %(size)s AS first, (b + 1) * %(size)s - 1 AS last FROM generate_series(0, (
    SELECT coalesce(max(number), 0) / %(size)s + 1 FROM search_indexeddocument
     WHERE account_id = %(account)s AND collection = %(collection)s AND number IS NOT NULL)) b
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
_APPEND = """
INSERT INTO search_packedpostings AS p (account_id, collection, term, block, postings)
SELECT %s::uuid, %s::text, n.term, n.block, n.postings
  FROM unnest(%s::text[], %s::int[], %s::bytea[]) AS n (term, block, postings)
ON CONFLICT (account_id, collection, term, block)
DO UPDATE SET postings = p.postings || excluded.postings
"""
_REMOVED = """
DELETE FROM search_removeddocument WHERE (account_id, collection, number) IN (
  SELECT account_id, collection, number FROM search_removeddocument
   WHERE account_id = %s AND collection = %s LIMIT %s)
RETURNING number, terms, reader_group
"""
_PACKED = """
SELECT p.term, p.block, p.postings FROM search_packedpostings p
  JOIN unnest(%s::text[], %s::int[]) AS n (term, block) USING (term, block)
 WHERE p.account_id = %s AND p.collection = %s
"""
_READER_GROUPS = """
SELECT p.reader_group, p.block, p.numbers FROM search_packedreadergroup p
  JOIN unnest(%s::text[], %s::int[]) AS n (reader_group, block) USING (reader_group, block)
 WHERE p.account_id = %s AND p.collection = %s
 ORDER BY p.reader_group, p.block FOR UPDATE OF p
"""
_REWRITE_READER_GROUPS = """
WITH written AS (
  SELECT * FROM unnest(%s::text[], %s::int[], %s::bytea[]) AS n (reader_group, block, numbers)
), emptied AS (
  DELETE FROM search_packedreadergroup p USING written n
   WHERE p.account_id = %s::uuid AND p.collection = %s::text AND p.reader_group = n.reader_group
     AND p.block = n.block AND n.numbers = ''
)
UPDATE search_packedreadergroup p SET numbers = n.numbers FROM written n
 WHERE p.account_id = %s::uuid AND p.collection = %s::text AND p.reader_group = n.reader_group
   AND p.block = n.block AND n.numbers <> ''
"""
_REWRITE = """
WITH written AS (
  SELECT * FROM unnest(%s::text[], %s::int[], %s::bytea[]) AS n (term, block, postings)
), emptied AS (
  DELETE FROM search_packedpostings p USING written n
   WHERE p.account_id = %s::uuid AND p.collection = %s::text AND p.term = n.term
     AND p.block = n.block AND n.postings = ''
)
UPDATE search_packedpostings p SET postings = n.postings FROM written n
 WHERE p.account_id = %s::uuid AND p.collection = %s::text AND p.term = n.term
   AND p.block = n.block AND n.postings <> ''
"""


def pack_recent(account_id: UUID, collection: str, *, at_least: int = MIN_PACKED) -> int:
    """Pack the recent documents of a collection, and return their number.

    Return early while another process packs the same collection.
    """
    total = 0
    while packed := _pack_block(account_id, collection, at_least):
        total += packed
    return total


def _pack_block(account_id: UUID, collection: str, at_least: int) -> int:
    """Pack the oldest recent documents into one block."""
    with acting(account_id), binary_cursor() as cursor:
        if not try_lock_until_commit(build_lock_name(account_id, collection)):
            return 0
        rows = cursor.execute(_RECENT, [account_id, collection, MAX_PACKED]).fetchall()
        if len(rows) < max(at_least, 1):
            return 0
        key: Mapping[str, Any] = {"account": account_id, "collection": collection, "size": BLOCK}
        [(first, room)] = cursor.execute(_FREE_NUMBER, key).fetchall()
        rows = rows[:room]
        by_key = defaultdict[Key, list[tuple[int, int, int]]](list)
        for number, (_, length, frequencies) in enumerate(rows, first):
            for term, frequency in frequencies.items():
                by_key[term, first // BLOCK].append((number, length, frequency))
        numbers = list(range(first, first + len(rows)))
        cursor.execute(_NUMBER, [[row[0] for row in rows], numbers, account_id, collection])
        columns = build_columns({key: pack(postings) for key, postings in by_key.items()})
        cursor.execute(_APPEND, [account_id, collection, *columns])
    return len(rows)


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
        if reader_groups:
            _remove_from_reader_groups(cursor, (account_id, collection), reader_groups)
            remove_packed_codes(cursor, (account_id, collection), reader_groups)
        if by_key:
            cursor.execute(_PACKED, [*split_keys(by_key), account_id, collection])
            rewritten = {
                (term, block): remove_numbers(postings, by_key[term, block])
                for term, block, postings in cursor.fetchall()
            }
            cursor.execute(_REWRITE, [*build_columns(rewritten), *(account_id, collection) * 2])
    return len(rows)


def _remove_from_reader_groups(
    cursor: Any, collection_key: tuple[UUID, str], reader_groups: Mapping[Key, list[int]]
) -> None:
    cursor.execute(_READER_GROUPS, [*split_keys(reader_groups), *collection_key])
    rewritten = {
        (reader_group, block): remove_packed_numbers(numbers, reader_groups[reader_group, block])
        for reader_group, block, numbers in cursor.fetchall()
    }
    cursor.execute(_REWRITE_READER_GROUPS, [*build_columns(rewritten), *collection_key * 2])


def list_unpacked(at_least: int = MIN_PACKED) -> list[tuple[UUID, str]]:
    """Return the accounts and collections with so many recent documents, or with removed ones."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT account_id, collection FROM unpacked_collections(%s)", [at_least])
        return list(cursor.fetchall())
