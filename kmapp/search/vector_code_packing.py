"""Packing of the codes of vectors, by a periodic task. Codes belong to the active model.

Functions hold the lock of everything that is packed for the collection, and wait for processes that
change its documents.
"""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any
from uuid import UUID

import numpy as np

from kmapp.accounts.acting import acting
from kmapp.database.advisory_locks import lock_until_commit, try_lock_until_commit
from kmapp.database.psycopg_cursors import binary_cursor
from kmapp.database.raw_sql import fetch_all
from kmapp.providers.active_models import active_model
from kmapp.providers.models import EmbeddingModel
from kmapp.search.models import CodeCentre, PackedCodes
from kmapp.search.packed_array_tables import CODES, CollectionKey, Key, build_lock_name
from kmapp.search.posting_scores import BLOCK
from kmapp.search.vector_codes import Coder, Vectors, build_code_type

# Documents of a collection that wait for codes; fewer are compared one by one, in every search of
# their reader groups. Packing them rewrites one row for each group and block.
MIN_CODED = 64
MAX_CODED = 1_024  # documents of one transaction
MIN_SAMPLE = 256  # vectors for a centre; the mean of fewer would disclose them
MAX_SAMPLE = 2_000
RECOMPUTE_GROWTH = 4  # growth of a sample below MAX_SAMPLE after which the centre is computed again
HALFVEC_HEADER = 4  # bytes of PostgreSQL's binary form before the numbers

# Each block starts after the one before, so that it does not read that one again.
_WAITING = """
SELECT document, number, reader_group FROM search_indexeddocument
 WHERE account_id = %s AND collection = %s AND number > %s AND coding = 1
 ORDER BY number LIMIT %s FOR UPDATE SKIP LOCKED
"""
# A separate statement, so that it sees all vectors that were stored before the documents were
# locked.
_VECTORS = """
WITH vectors AS (
  SELECT object_id, halfvec_send(embedding) AS embedding FROM search_vector
   WHERE account_id = %s AND collection = %s AND model_id = %s AND state = 'READY'
     AND vector_dims(embedding) = %s AND object_id = ANY (%s::uuid[])
), coded AS (
  UPDATE search_indexeddocument SET coding =
         CASE WHEN document IN (SELECT object_id FROM vectors) THEN 2 ELSE 0 END
   WHERE account_id = %s AND collection = %s AND document = ANY (%s::uuid[])
)
SELECT object_id, embedding FROM vectors
"""
_AWAIT_BLOCK = """
WITH block AS (
  SELECT document FROM search_indexeddocument
   WHERE account_id = %s AND collection = %s AND document > %s ORDER BY document LIMIT %s FOR UPDATE
), waiting AS (
  UPDATE search_indexeddocument d SET coding = 1 FROM block b
   WHERE d.account_id = %s AND d.collection = %s AND d.document = b.document AND d.coding <> 1
)
SELECT max(document::text)::uuid FROM block
"""
_SAMPLE = """
SELECT halfvec_send(embedding) FROM search_vector
 WHERE account_id = %s AND collection = %s AND model_id = %s AND state = 'READY'
   AND vector_dims(embedding) = %s LIMIT %s
"""


def pack_codes(account_id: UUID, collection: str) -> int:
    """Pack the codes of documents that wait for them, and return their number.

    Return early while another process packs the same collection.
    """
    key, model, total = (account_id, collection), active_model(), 0
    if not _has_current_centre(key, model):
        _prepare_model(key, model)
    after = -1
    while coded := _code_block(key, model, after):
        total, after = total + len(coded), coded[-1]
    return total


def load_coder(key: CollectionKey, model: EmbeddingModel) -> Coder | None:
    """Return the coder of a collection, or None before codes are packed. Inside `acting`."""
    account_id, collection = key
    rows = CodeCentre.objects.of(account_id).filter(collection=collection, model=model)
    centre = rows.values_list("centre", flat=True).first()
    return Coder(np.frombuffer(centre, dtype="<f4")) if centre else None


def _has_current_centre(key: CollectionKey, model: EmbeddingModel) -> bool:
    """Return whether there is a centre that is still representative.

    A centre of a sample below MAX_SAMPLE is not, once there are RECOMPUTE_GROWTH times as many
    vectors.
    """
    account_id, collection = key
    with acting(account_id):
        rows = CodeCentre.objects.of(account_id).filter(collection=collection, model=model)
        size = rows.values_list("size", flat=True).first() or 0
        return size >= MAX_SAMPLE or 0 < len(_load_sample(key, model)) < RECOMPUTE_GROWTH * size


def _prepare_model(key: CollectionKey, model: EmbeddingModel) -> None:
    """Mark all documents as waiting for codes relative to a new centre.

    Searches and `_code_block` use codes only once there is a centre, which is written last.
    """
    account_id, collection = key
    with acting(account_id):
        if not try_lock_until_commit(build_lock_name(*key)):
            return
        if len(_load_sample(key, model)) < MIN_SAMPLE:
            return
        CodeCentre.objects.of(account_id).filter(collection=collection).delete()
    after: UUID | None = UUID(int=0)
    while after:
        with acting(account_id), binary_cursor() as cursor:
            lock_until_commit(build_lock_name(*key))
            if CodeCentre.objects.of(account_id).filter(collection=collection).exists():
                return  # another process was faster
            cursor.execute(_AWAIT_BLOCK, [*key, after, MAX_CODED, *key])
            [(after,)] = cursor.fetchall()
            if after is None:
                _create_centre(key, model)


def _create_centre(key: CollectionKey, model: EmbeddingModel) -> None:
    """Create the centre, unless the model is no longer active: the caller's may be outdated."""
    account_id, collection = key
    sample = _load_sample(key, model)
    models = EmbeddingModel.objects.filter(pk=model.pk, state=EmbeddingModel.State.ACTIVE)
    if len(sample) >= MIN_SAMPLE and models.exists():
        PackedCodes.objects.of(account_id).filter(collection=collection).delete()
        CodeCentre.objects.create(
            account_id=account_id,
            collection=collection,
            model=model,
            centre=sample.mean(axis=0, dtype=np.float32).astype("<f4").tobytes(),
            size=len(sample),
        )


def _load_sample(key: CollectionKey, model: EmbeddingModel) -> Vectors:
    with binary_cursor() as cursor:
        cursor.execute(_SAMPLE, [*key, model.pk, model.dimensions, MAX_SAMPLE])
        return _decode([row[0] for row in cursor.fetchall()])


def _code_block(key: CollectionKey, model: EmbeddingModel, after: int) -> list[int]:
    """Pack the codes of the first documents after this number, and return their numbers."""
    with acting(key[0]), binary_cursor() as cursor:
        if not try_lock_until_commit(build_lock_name(*key)):
            return []
        coder = load_coder(key, model)
        cursor.execute(_WAITING, [*key, after, MAX_CODED])
        rows = cursor.fetchall()
        if coder is None or not rows:
            return []
        documents = [row[0] for row in rows]
        size = model.dimensions
        cursor.execute(_VECTORS, [*key, model.pk, size, documents, *key, documents])
        places = {document: (number, reader_group) for document, number, reader_group in rows}
        by_key = defaultdict[Key, list[tuple[int, bytes]]](list)
        for document, embedding in cursor.fetchall():
            number, reader_group = places[document]
            by_key[reader_group, number // BLOCK].append((number, embedding))
        packed = {
            each: coder.encode([row[0] for row in coded], _decode([row[1] for row in coded]))
            for each, coded in by_key.items()
        }
        CODES.append(cursor, (*key, model.pk), packed)
    return [number for _, number, _ in rows]


def _decode(embeddings: list[bytes]) -> Vectors:
    """Return vectors from PostgreSQL's binary form of `halfvec`."""
    rows = [np.frombuffer(each, dtype=">f2", offset=HALFVEC_HEADER) for each in embeddings]
    return np.array(rows, dtype=np.float32)


def remove_packed_codes(
    cursor: Any, key: CollectionKey, reader_groups: Mapping[Key, list[int]]
) -> None:
    """Delete the codes of these documents, of all models."""
    for model_id, dimensions in EmbeddingModel.objects.values_list("pk", "dimensions"):
        CODES.remove(cursor, (*key, model_id), reader_groups, build_code_type(dimensions))


def list_uncoded(at_least: int) -> list[tuple[UUID, str]]:
    """Return the accounts and collections with so many documents that wait for codes."""
    return fetch_all("SELECT account_id, collection FROM uncoded_collections(%s)", [at_least])
