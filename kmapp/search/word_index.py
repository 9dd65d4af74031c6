"""Indexing of the words of texts, in the transaction that writes the text. Inside `acting`."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction

from kmapp.database.bulk_insert import Insert
from kmapp.database.psycopg_cursors import prepared_cursor
from kmapp.database.raw_sql import fetch_all
from kmapp.search.id_array_lookup import IdArray
from kmapp.search.posting_packing import purge_removed
from kmapp.text.terms import extract_terms

_INSERT = """
INSERT INTO search_indexeddocument (account_id, collection, document, length, terms)
SELECT %s::uuid, %s::text, d.id, d.length, d.terms
FROM json_to_recordset(%s::json) AS d (id uuid, length int, terms jsonb)
"""
_REPLACE = """
ON CONFLICT (account_id, collection, document)
DO UPDATE SET length = excluded.length, terms = excluded.terms,
    reader_group = excluded.reader_group, coding = excluded.coding
 WHERE search_indexeddocument.number IS NULL
"""
_REMOVE = """
WITH removed AS (
  DELETE FROM search_indexeddocument
   WHERE account_id = %s::uuid AND collection = ANY (%s::text[]) AND document = ANY (%s::uuid[])
  RETURNING account_id, collection, number, reader_group, terms
)
INSERT INTO search_removeddocument (account_id, collection, number, reader_group, terms)
SELECT account_id, collection, number, reader_group, ARRAY(SELECT jsonb_object_keys(terms))
FROM removed WHERE number IS NOT NULL RETURNING collection
"""


def insert_documents(
    account_id: UUID, collection: str, texts: Mapping[UUID, str]
) -> Iterator[Insert]:
    """Yield an INSERT of documents that are not indexed."""
    if texts:
        rows = [encode_document(document, text) for document, text in texts.items()]
        yield Insert(_INSERT, [account_id, collection, json.dumps(rows)])


def encode_document(document: UUID, text: str) -> dict[str, Any]:
    terms = extract_terms(text)
    return {"id": str(document), "length": len(terms), "terms": Counter(terms)}


def index_documents(account_id: UUID, collection: str, texts: Mapping[UUID, str]) -> None:
    """Index the words of texts. They replace the indexed words of the same documents."""
    remove_documents(account_id, [collection], texts)
    for insert in insert_documents(account_id, collection, texts):
        with prepared_cursor() as cursor:
            # Another transaction may have indexed the document since it was removed.
            cursor.execute(insert.sql + _REPLACE, insert.values)


def remove_documents(
    account_id: UUID, collections: Sequence[str], documents: Iterable[UUID]
) -> None:
    """Remove documents from the index; packed postings follow when the transaction is committed."""
    rows = fetch_all(_REMOVE, [account_id, list(collections), IdArray(documents).array])
    packed_collections = {row[0] for row in rows}
    for collection in packed_collections:
        transaction.on_commit(partial(purge_removed, account_id, collection), robust=True)
