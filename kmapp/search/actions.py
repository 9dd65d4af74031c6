"""Writing of the search indexes: postings with the row, vectors by workers."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import connection
from pgvector.django import HalfVectorField

from kmapp.database.bulk_insert import Insert
from kmapp.database.ids import uuid7
from kmapp.database.prepared import prepared_cursor
from kmapp.search.models import Vector
from kmapp.text.terms import terms

DOCUMENT = ""  # the term whose posting is that of the document itself
MAX_STORED_FREQUENCY = 32_000  # stored frequency of a term in a document: the column is a smallint


# In the order of the primary key: neighbouring rows are in the same pages of it.
_INDEX = """
INSERT INTO search_termposting (account_id, collection, term, document, tf, dl)
SELECT %s::uuid, %s::text, term.key, d.id, term.value::int, d.dl
FROM json_to_recordset(%s::json) AS d (id uuid, dl int, terms json), json_each_text(d.terms) AS term
ORDER BY term.key, d.id
"""
_REPLACE = """
-- An older release may have left words that it split differently.
ON CONFLICT (account_id, collection, term, document)
DO UPDATE SET tf = excluded.tf, dl = excluded.dl
"""


def index_terms(
    account_id: UUID,
    collection: str,
    texts: Mapping[UUID, str],
    *,
    before: Mapping[UUID, str] | None = None,
) -> None:
    """Index the words of texts; `before` has the indexed texts of existing documents."""
    if before:
        unindex_terms(account_id, collection, before)
    for insert in insert_postings(account_id, collection, texts):
        with prepared_cursor() as cursor:
            cursor.execute(insert.sql + _REPLACE, insert.values)


def insert_postings(
    account_id: UUID, collection: str, texts: Mapping[UUID, str]
) -> Iterator[Insert]:
    """Yield an INSERT of the postings of documents that have none."""
    documents = [_encode_document(document, text) for document, text in texts.items()]
    if documents:
        yield Insert(_INDEX, [account_id, collection, json.dumps(documents)])


def _encode_document(document: UUID, text: str) -> dict[str, Any]:
    counts = Counter(terms(text))
    length = counts.total()
    if length > MAX_STORED_FREQUENCY:
        counts = Counter(
            {term: min(frequency, MAX_STORED_FREQUENCY) for term, frequency in counts.items()}
        )
    return {
        "id": str(document),
        "dl": length,
        "terms": {DOCUMENT: min(length, MAX_STORED_FREQUENCY), **counts},
    }


def postings_of(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield term, frequency and length of the text, for each term and for the document itself."""
    term_counts = Counter(terms(text))
    length = term_counts.total()
    for term, frequency in ((DOCUMENT, length), *term_counts.items()):
        yield term, min(frequency, MAX_STORED_FREQUENCY), length


def _postings(texts: Mapping[UUID, str]) -> list[tuple[str, UUID, int, int]]:
    return [
        (term, document, frequency, length)
        for document, text in texts.items()
        for term, frequency, length in postings_of(text)
    ]


def unindex_terms(account_id: UUID, collection: str, texts: Mapping[UUID, str]) -> None:
    """Delete postings by the texts of documents, because the primary key begins with the term."""
    postings = _postings(texts)
    if postings:
        with connection.cursor() as cursor:
            cursor.execute(
                "DELETE FROM search_termposting p USING unnest(%s::text[], %s::uuid[]) AS t (term, "
                "document) WHERE p.account_id = %s AND p.collection = %s AND p.term = t.term "
                "AND p.document = t.document",
                [
                    [row[0] for row in postings],
                    [row[1] for row in postings],
                    account_id,
                    collection,
                ],
            )


def drop_documents(account_id: UUID, collections: Sequence[str], documents: Sequence[UUID]) -> None:
    """Delete every posting of these documents, whatever their texts were. Reads all postings."""
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM search_termposting WHERE account_id = %s AND collection = ANY (%s) "
            "AND document = ANY (%s::uuid[])",
            [account_id, list(collections), list(documents)],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    object_id: UUID
    part: int
    text_sha256: str


def await_vectors(
    account_id: UUID,
    collection: str,
    model_id: int,
    parts: Sequence[Part],
    *,
    is_equal_text: bool = True,
) -> None:
    """Mark these parts as pending for this model, and delete other vectors of the objects."""
    if is_equal_text:
        objects = {part.object_id for part in parts}
        drop_vectors(account_id, [collection], list(objects), model_id=model_id)
    for insert in insert_pending(account_id, collection, model_id, parts):
        with prepared_cursor() as cursor:
            cursor.execute(insert.sql, insert.values)


_INSERT_PENDING = """
INSERT INTO search_vector
  (id, account_id, collection, model_id, object_id, part, text_sha256, state, error)
SELECT p.id, %s::uuid, %s::text, %s::bigint, p.object_id, p.part, p.sha256, 'PENDING', ''
FROM unnest(%s::uuid[], %s::uuid[], %s::int[], %s::text[]) AS p (id, object_id, part, sha256)
"""


def insert_pending(
    account_id: UUID, collection: str, model_id: int, parts: Sequence[Part]
) -> Iterator[Insert]:
    """Yield an INSERT that marks parts as pending, of objects that have no vectors."""
    if parts:
        columns = (
            [uuid7() for _ in parts],
            [part.object_id for part in parts],
            [part.part for part in parts],
            [part.text_sha256 for part in parts],
        )
        yield Insert(_INSERT_PENDING, [account_id, collection, model_id, *columns])


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedPart:
    part: Part
    embedding: Sequence[float] | None = None
    error: str = ""


# The pending row of a part becomes its vector: an UPDATE checks no foreign keys, and a DELETE with
# an INSERT leaves as many dead rows.
_STORE = """
WITH parts AS (
  SELECT * FROM unnest(%s::uuid[], %s::uuid[], %s::int[], %s::text[], %s::text[], %s::text[])
    AS p (id, object_id, part, sha256, embedding, error)
), former AS (
  DELETE FROM search_vector v
   WHERE v.account_id = %s::uuid AND v.collection = %s::text AND v.model_id = %s::bigint
     AND v.object_id = ANY (%s::uuid[])
     AND (v.object_id, v.part) NOT IN (SELECT p.object_id, p.part FROM parts p)
)
INSERT INTO search_vector AS v
  (id, account_id, collection, model_id, object_id, part, text_sha256, state, embedding, error,
   ready_at)
SELECT p.id, %s::uuid, %s::text, %s::bigint, p.object_id, p.part, p.sha256,
       CASE WHEN p.embedding IS NULL THEN 'FAILED' ELSE 'READY' END, p.embedding::halfvec, p.error,
       CASE WHEN p.embedding IS NOT NULL THEN statement_timestamp() END
FROM parts p
ON CONFLICT (account_id, collection, object_id, part, model_id) DO UPDATE
  SET text_sha256 = excluded.text_sha256, state = excluded.state, embedding = excluded.embedding,
      error = excluded.error, ready_at = excluded.ready_at
"""


def store_vectors(
    account_id: UUID, collection: str, model_id: int, embedded_parts: Sequence[EmbeddedPart]
) -> None:
    """Replace the vectors of whole objects.

    The caller has locked the objects and checked that their texts have not changed.
    """
    rows = [
        (
            uuid7(),
            each.part.object_id,
            each.part.part,
            each.part.text_sha256,
            None if each.embedding is None else HalfVectorField().get_prep_value([*each.embedding]),
            each.error[:200],
        )
        for each in embedded_parts
    ]
    if rows:
        key = (account_id, collection, model_id)
        columns = [list(column) for column in zip(*rows, strict=True)]
        with connection.cursor() as cursor:
            cursor.execute(_STORE, [*columns, *key, columns[1], *key])


def find_vectors_of_equal_texts(
    account_id: UUID, model_id: int, sha256s: Iterable[str]
) -> dict[str, list[float]]:
    """Return the vectors that this account already has of equal texts, by digest."""
    rows = Vector.objects.of(account_id).filter(
        model_id=model_id, text_sha256__in=set(sha256s), state=Vector.State.READY
    )
    rows = rows.distinct("text_sha256").order_by("text_sha256")
    vectors = rows.values_list("text_sha256", "embedding")
    return {sha: vector for sha, vector in vectors if vector is not None}


def drop_vectors(
    account_id: UUID,
    collections: Sequence[str],
    objects: Sequence[UUID],
    *,
    model_id: int | None = None,
) -> None:
    vectors = Vector.objects.of(account_id).filter(collection__in=collections)
    if model_id is not None:
        vectors = vectors.filter(model_id=model_id)
    vectors.filter(object_id__in=objects).delete()
