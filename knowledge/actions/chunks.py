"""Chunks of documents. When a text changes, its unchanged chunks keep their rows and vectors."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from kmapp.database.ids import uuid7
from kmapp.outbox.publish import NewJob, publish
from kmapp.providers.active_models import models_in_use
from kmapp.search.id_array_lookup import IdArray
from kmapp.search.vector_storage import TextPart, await_vectors, drop_vectors
from kmapp.search.word_index import index_documents, remove_documents
from knowledge.chunking import Chunk
from knowledge.chunking.index_versions import INDEX_VERSIONS, collection_name
from knowledge.models import KnowledgeChunk, KnowledgeDocument, KnowledgeText
from knowledge.retrieval.indexed_text import build_lexical_text

EMBED = "knowledge.chunks.embed"
EMBED_BATCH = 16  # chunks in a job
INDEX_BATCH = 100  # chunks in a statement
POSITION_FIELDS = ("text_row", "chunk_index", "start", "end", "line_start", "line_end", "page")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkedText:
    document: KnowledgeDocument
    text: KnowledgeText
    chunks: Mapping[str, Sequence[Chunk]]  # by index version
    title_before: str  # with which the existing chunks were indexed


def replace_chunks(account_id: UUID, texts: Sequence[ChunkedText], job: UUID) -> Counter[str]:
    """Replace the chunks of documents by those of their current texts.

    Chunks with the same content keep their rows, unless the title changed, because chunks are
    indexed with it. Return the numbers of `unchanged`, `created` and `retired` chunks.
    """
    total = Counter[str]()
    for version in INDEX_VERSIONS if texts else ():
        total += _replace_version(account_id, version, texts, job)
    return total


def _replace_version(
    account_id: UUID, version: str, texts: Sequence[ChunkedText], job: UUID
) -> Counter[str]:
    retitled = {each.document.pk for each in texts if each.title_before != each.document.title}
    rows = KnowledgeChunk.objects.of(account_id).of_index_version(version)
    rows = rows.filter(document__in=[each.document for each in texts])
    # Embedding jobs also lock chunks in this order and before their vectors, so none can deadlock.
    rows = rows.order_by("pk").select_for_update(no_key=True)
    existing: dict[Any, list[KnowledgeChunk]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row.chunk_index):
        content = (row.document_id, row.sha256, tuple(row.headings))
        existing[row.pk if row.document_id in retitled else content].append(row)
    moved, created = [], []
    for each in texts:
        for chunk in each.chunks.get(version, ()):
            sha256 = hashlib.sha256(chunk.text.encode()).hexdigest()
            if same := existing.get((each.document.pk, sha256, chunk.headings)):
                row = same.pop(0)
                moved.append(row)
            else:
                row = KnowledgeChunk(
                    id=uuid7(),
                    account_id=account_id,
                    document=each.document,
                    index_version=version,
                    headings=list(chunk.headings),
                    sha256=sha256,
                    text=chunk.text,
                )
                created.append(row)
            row.text_row, row.chunk_index = each.text, chunk.index
            for name in POSITION_FIELDS[2:]:
                setattr(row, name, getattr(chunk, name))
    surplus = [row for same in existing.values() for row in same]
    _delete_chunks(account_id, version, surplus)
    KnowledgeChunk.objects.bulk_update(moved, POSITION_FIELDS, batch_size=500)
    KnowledgeChunk.objects.bulk_create(created, batch_size=500)
    _index_words(account_id, version, created)
    _await_vectors(account_id, version, created)
    _enqueue_embeddings(account_id, version, created, job)
    return Counter(unchanged=len(moved), created=len(created), retired=len(surplus))


def index_titles(account_id: UUID, documents: Sequence[KnowledgeDocument], job: UUID) -> None:
    """Index the chunks of documents with their new titles.

    Their former vectors remain in use until the new ones are stored.
    """
    for version in INDEX_VERSIONS if documents else ():
        rows = KnowledgeChunk.objects.of(account_id).of_index_version(version)
        rows = rows.filter(document__in=documents).select_related("document")
        chunks = list(rows.order_by("pk"))
        _index_words(account_id, version, chunks)
        _enqueue_embeddings(account_id, version, chunks, job)


def _index_words(account_id: UUID, version: str, chunks: Sequence[KnowledgeChunk]) -> None:
    for batch in _split_batches(chunks, INDEX_BATCH):
        words = {
            row.pk: build_lexical_text(row, row.document.title, row.document.ref) for row in batch
        }
        index_documents(account_id, collection_name(version), words)


def _delete_chunks(account_id: UUID, version: str, chunks: Sequence[KnowledgeChunk]) -> None:
    """Delete chunks with their words and vectors, but not their texts."""
    collection = collection_name(version)
    for batch in _split_batches(chunks, INDEX_BATCH):
        ids = [chunk.pk for chunk in batch]
        remove_documents(account_id, [collection], ids)
        drop_vectors(account_id, [collection], ids)
        KnowledgeChunk.objects.of(account_id).filter(pk__any_of=IdArray(ids)).delete()


def _split_batches(
    chunks: Sequence[KnowledgeChunk], size: int
) -> Iterator[Sequence[KnowledgeChunk]]:
    """Yield chunks in batches, so that no statement takes long."""
    return (chunks[i : i + size] for i in range(0, len(chunks), size))


def _await_vectors(account_id: UUID, version: str, chunks: Sequence[KnowledgeChunk]) -> None:
    parts = [TextPart(object_id=chunk.pk, part=0, text_sha256="") for chunk in chunks]
    for model in models_in_use() if parts else ():
        await_vectors(account_id, collection_name(version), model.pk, parts, is_equal_text=False)


def _enqueue_embeddings(
    account_id: UUID, version: str, chunks: Sequence[KnowledgeChunk], job: UUID
) -> None:
    new_jobs = [
        NewJob(
            job_key=f"{batch[0].pk}:{job}",
            payload={"index_version": version, "chunks": [str(each.pk) for each in batch]},
        )
        for batch in _split_batches(chunks, EMBED_BATCH)
    ]
    publish(account_id, EMBED, new_jobs)
