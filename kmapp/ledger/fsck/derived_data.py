"""Verification of derived data: vectors and postings."""

from collections.abc import Iterator

from psycopg import sql

from kmapp.ledger.fsck.database_snapshot import Snapshot
from kmapp.ledger.fsck.findings import Findings
from kmapp.ledger.fsck.sealed_tables import INDEXED_TABLES, IndexedTable, get_object_type

_VECTORS_SQL = """
SELECT v.collection, v.object_id::text, v.part, m.name, m.dimensions, vector_dims(v.embedding)
  FROM search_vector v JOIN providers_embeddingmodel m ON m.id = v.model_id
 WHERE v.account_id = %s AND v.state = 'READY'
   AND (v.embedding IS NULL OR vector_dims(v.embedding) <> m.dimensions)
"""
_UNINDEXED_SQL = """
SELECT t.id::text FROM {table} t
 WHERE t.account_id = %s AND {only} AND NOT EXISTS (
   SELECT FROM search_indexeddocument d WHERE d.account_id = t.account_id
      AND d.collection = %s AND d.document = t.id)
"""
_INCOMPLETE_SQL = """
SELECT d.document::text FROM search_indexeddocument d
 WHERE d.account_id = %s AND d.collection = %s AND CASE jsonb_typeof(d.terms)
   WHEN 'object' THEN d.length <> (
     SELECT coalesce(sum(CASE jsonb_typeof(t.frequency)
         WHEN 'number' THEN t.frequency::numeric ELSE 'NaN' END), 0) -- NaN equals no length
       FROM jsonb_each(d.terms) AS t (term, frequency))
   ELSE true END
"""
# A term must have eight bytes for each packed document that contains it, including removed
# documents whose postings are not deleted yet. Terms that are no object have no keys; the query
# above reports them.
_MISPACKED_SQL = """
WITH key (account, collection) AS (SELECT %s::uuid, %s::text), listed AS (
  SELECT term, count(*) AS documents FROM (
    SELECT jsonb_object_keys(CASE jsonb_typeof(d.terms) WHEN 'object' THEN d.terms END) AS term
      FROM search_indexeddocument d, key
     WHERE d.account_id = key.account AND d.collection = key.collection AND d.number IS NOT NULL
    UNION ALL
    SELECT unnest(r.terms) FROM search_removeddocument r, key
     WHERE r.account_id = key.account AND r.collection = key.collection) terms
   GROUP BY term
), packed AS ( -- a posting has 8 bytes (kmapp.search.posting_scores)
  SELECT p.term, sum(octet_length(p.postings)) / 8 AS documents FROM search_packedpostings p, key
   WHERE p.account_id = key.account AND p.collection = key.collection GROUP BY p.term
)
SELECT coalesce(listed.term, packed.term) FROM listed FULL JOIN packed USING (term)
 WHERE listed.documents IS DISTINCT FROM packed.documents
"""
_WRONG_READER_GROUP_SQL = """
WITH packed AS (
  SELECT p.reader_group, number
    FROM (SELECT reader_group, numbers || ''::bytea AS numbers FROM search_packedreadergroup
           WHERE account_id = %s AND collection = %s) p,
         generate_series(0, octet_length(p.numbers) / 4 - 1) place,
         substring(p.numbers FROM 4 * place + 1 FOR 4) item,
         CAST(('x' || encode(item, 'hex'))::bit(32) AS int) number
   WHERE number NOT IN (
     SELECT number FROM search_removeddocument WHERE account_id = %s AND collection = %s)
), listed AS (
  SELECT reader_group, number FROM search_indexeddocument
   WHERE account_id = %s AND collection = %s AND number IS NOT NULL AND reader_group <> ''
)
SELECT DISTINCT coalesce(l.reader_group, p.reader_group)
  FROM listed l FULL JOIN packed p ON p.reader_group = l.reader_group AND p.number = l.number
 WHERE l.number IS NULL OR p.number IS NULL
"""
_NEVER_CODED_SQL = """
SELECT d.document::text FROM search_indexeddocument d
 WHERE d.account_id = %s AND d.collection = %s AND d.coding = 0
   AND d.reader_group <> '' AND EXISTS (
   SELECT FROM search_vector v JOIN providers_embeddingmodel m ON m.id = v.model_id
    WHERE v.account_id = d.account_id AND v.collection = d.collection AND v.object_id = d.document
      AND v.state = 'READY' AND m.state = 'active')
"""


def check_derived(snapshot: Snapshot, findings: Findings) -> None:
    for kind, name, message in (*_list_bad_vectors(snapshot), *_list_bad_postings(snapshot)):
        findings.add(kind, message, snapshot.account, name=name)


def _list_bad_vectors(snapshot: Snapshot) -> Iterator[tuple[str, str, str]]:
    for collection, ident, part, model, expected, size in snapshot.fetch_all(
        _VECTORS_SQL, snapshot.account
    ):
        has = "no embedding" if size is None else f"{size} dimensions instead of {expected}"
        yield "vector", f"{collection}:{ident}", f"part {part} is READY for {model} with {has}"


def _list_bad_postings(snapshot: Snapshot) -> Iterator[tuple[str, str, str]]:
    for each in INDEXED_TABLES:
        if not snapshot.load_columns(each.table):
            continue
        only: sql.Composable = sql.SQL("true")
        if each.column:
            column, value = sql.Identifier(each.column), sql.Literal(each.value)
            only = sql.SQL("t.{} = {}").format(column, value)
        query = sql.SQL(_UNINDEXED_SQL).format(table=sql.Identifier(each.table), only=only)
        for (ident,) in snapshot.fetch_all(query, snapshot.account, each.collection):
            yield "posting", f"{get_object_type(each.table)}:{ident}", "its words are not indexed"
        for (ident,) in snapshot.fetch_all(_INCOMPLETE_SQL, snapshot.account, each.collection):
            message = "its terms do not add up to its length"
            yield "posting", f"{get_object_type(each.table)}:{ident}", message
        for (term,) in snapshot.fetch_all(_MISPACKED_SQL, snapshot.account, each.collection):
            message = "its packed postings are not those of the documents"
            yield "posting", f"{each.collection}:{term}", message
        yield from _list_bad_groups(snapshot, each)


def _list_bad_groups(snapshot: Snapshot, indexed: IndexedTable) -> Iterator[tuple[str, str, str]]:
    key = (snapshot.account, indexed.collection)
    for (reader_group,) in snapshot.fetch_all(_WRONG_READER_GROUP_SQL, *key * 3):
        message = "its packed numbers are not those of its documents"
        yield "posting", f"{indexed.collection}:{reader_group}", message
    for (ident,) in snapshot.fetch_all(_NEVER_CODED_SQL, *key):
        message = "its vectors have no codes, and it does not wait for them"
        yield "posting", f"{get_object_type(indexed.table)}:{ident}", message
