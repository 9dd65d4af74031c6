"""Chunks follow the text of their document: unchanged ones keep their row and vectors."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from kmapp.database.ids import uuid7
from kmapp.outbox.actions import Task, publish
from kmapp.providers.active import models_in_use
from kmapp.search.actions import Part, await_vectors, drop_vectors, index_terms, unindex_terms
from kmapp.search.lookups import Ids
from knowledge.chunking import Chunk
from knowledge.chunking.index_versions import collection_of
from knowledge.models import KnowledgeChunk, KnowledgeDocument, KnowledgeText
from knowledge.retrieval.indexed_text import words_of

EMBED = "knowledge.chunks.embed"
TOGETHER = 16  # chunks that one job embeds
INDEXED_TOGETHER = 100  # chunks whose words are written at once
MOVES = ("text_row", "chunk_index", "start", "end", "line_start", "line_end", "page")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cutting:
    """A document's present text, and how one index version cuts it."""

    document: KnowledgeDocument
    text: KnowledgeText
    index_version: str
    chunks: Sequence[Chunk]
    title_before: str  # under which its chunks were indexed until now


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkChanges:
    """What became of chunks."""

    unchanged: int = 0
    created: int = 0
    retired: int = 0

    def __add__(self, other: "ChunkChanges") -> "ChunkChanges":
        return ChunkChanges(
            unchanged=self.unchanged + other.unchanged,
            created=self.created + other.created,
            retired=self.retired + other.retired,
        )


def settle_chunks(account_id: UUID, cuttings: Sequence[Cutting], job: UUID) -> ChunkChanges:
    """Bring the chunks of documents to what their texts are now.

    Where the title changed, so did what each chunk is found by: none of them stays.
    """
    by_version: dict[str, list[Cutting]] = defaultdict(list)
    for cutting in cuttings:
        by_version[cutting.index_version].append(cutting)
    total = ChunkChanges()
    for version, each in by_version.items():
        total += _settle(account_id, version, each, job)
    return total


def _settle(account_id: UUID, version: str, cuttings: Sequence[Cutting], job: UUID) -> ChunkChanges:
    documents = {cutting.document.pk: cutting.document for cutting in cuttings}
    names = {each.document.pk: (each.title_before, each.document.ref) for each in cuttings}
    renamed = {pk for pk, (title, _) in names.items() if title != documents[pk].title}
    rows = KnowledgeChunk.objects.of(account_id).cut_by(version)
    before = _by_content(rows.filter(document_id__in=documents), renamed)
    moved, created = [], []
    for cutting in cuttings:
        for chunk in cutting.chunks:
            sha256 = hashlib.sha256(chunk.text.encode()).hexdigest()
            same = before.get((cutting.document.pk, sha256, chunk.headings))
            if same:
                moved.append(_moved(same.pop(0), cutting.text, chunk))
            else:
                created.append(_create_chunk(account_id, cutting, chunk, sha256))
    gone = [row for rest in before.values() for row in rest]
    retire_chunks(account_id, version, gone, names)
    KnowledgeChunk.objects.bulk_update(moved, MOVES, batch_size=500)
    KnowledgeChunk.objects.bulk_create(created, batch_size=500)
    for some in blocks(created, INDEXED_TOGETHER):
        words = {row.pk: words_of(row, row.document.title, row.document.ref) for row in some}
        index_terms(account_id, collection_of(version), words)
    enqueue_embeddings(account_id, version, created, job)
    return ChunkChanges(unchanged=len(moved), created=len(created), retired=len(gone))


def _by_content(
    rows: Iterable[KnowledgeChunk], renamed: AbstractSet[UUID]
) -> dict[Any, list[KnowledgeChunk]]:
    rows_by_digest: dict[Any, list[KnowledgeChunk]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row.chunk_index):
        key: Any = (row.document_id, row.sha256, tuple(row.headings))
        rows_by_digest[row.pk if row.document_id in renamed else key].append(row)
    return rows_by_digest


def _moved(row: KnowledgeChunk, text: KnowledgeText, chunk: Chunk) -> KnowledgeChunk:
    row.text_row = text
    for name in MOVES[1:]:
        setattr(row, name, getattr(chunk, "index" if name == "chunk_index" else name))
    return row


def _create_chunk(account_id: UUID, cutting: Cutting, chunk: Chunk, sha256: str) -> KnowledgeChunk:
    return KnowledgeChunk(
        id=uuid7(),
        account_id=account_id,
        document=cutting.document,
        text_row=cutting.text,
        index_version=cutting.index_version,
        chunk_index=chunk.index,
        start=chunk.start,
        end=chunk.end,
        line_start=chunk.line_start,
        line_end=chunk.line_end,
        page=chunk.page,
        headings=list(chunk.headings),
        sha256=sha256,
        text=chunk.text,
    )


def retire_chunks(
    account_id: UUID,
    version: str,
    chunks: Sequence[KnowledgeChunk],
    names: Mapping[UUID, tuple[str, str]],
) -> None:
    """Delete chunks with their words and vectors; the texts they were cut from stay.

    `names` are the title and the ref of each document, by which its chunks were indexed.
    """
    collection = collection_of(version)
    for some in blocks(chunks, INDEXED_TOGETHER):
        words = {chunk.pk: words_of(chunk, *names[chunk.document_id]) for chunk in some}
        unindex_terms(account_id, collection, words)
        drop_vectors(account_id, [collection], list(words))
        KnowledgeChunk.objects.of(account_id).filter(pk__any_of=Ids(words)).delete()


def blocks(chunks: Sequence[KnowledgeChunk], size: int) -> Iterator[Sequence[KnowledgeChunk]]:
    """Yield items in blocks, so that no statement takes long."""
    return (chunks[i : i + size] for i in range(0, len(chunks), size))


def enqueue_embeddings(
    account_id: UUID, version: str, chunks: Sequence[KnowledgeChunk], job: UUID
) -> None:
    """Queue chunks to be embedded, some in each job."""
    parts = [Part(object_id=chunk.pk, part=0, text_sha256="") for chunk in chunks]
    for model in models_in_use() if parts else ():
        await_vectors(account_id, collection_of(version), model.pk, parts, is_equal_text=False)
    publish(
        account_id,
        EMBED,
        [
            Task(
                job_key=f"{some[0].pk}:{job}",
                payload={"index_version": version, "chunks": [str(each.pk) for each in some]},
            )
            for some in blocks(chunks, TOGETHER)
        ],
    )
