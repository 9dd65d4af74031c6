"""Storing of vectors, which workers compute."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection
from pgvector.django import HalfVectorField

from kmapp.database.bulk_insert import Insert
from kmapp.database.ids import uuid7
from kmapp.database.psycopg_cursors import prepared_cursor
from kmapp.search.models import Vector


@dataclass(frozen=True, slots=True, kw_only=True)
class TextPart:
    object_id: UUID
    part: int
    text_sha256: str


def await_vectors(
    account_id: UUID,
    collection: str,
    model_id: int,
    parts: Sequence[TextPart],
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
    account_id: UUID, collection: str, model_id: int, parts: Sequence[TextPart]
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
    part: TextPart
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
