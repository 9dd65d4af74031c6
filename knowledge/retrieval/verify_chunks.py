"""Verification of chunks before agents get them. Inside `acting`.

A chunk has no seal of its own: it must be a slice of the sealed text of the current version of its
document, at the place where it claims to be.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from kmapp.accounts.models import SealedModel
from kmapp.database.raw_sql import fetch_all
from kmapp.ledger.read_verification import ObjectKey, Reason, Verdict, record_withheld, verify_rows
from kmapp.runtime.in_process_caches import LruCache
from kmapp.search.id_array_lookup import IdArray
from knowledge.chunking import Shape
from knowledge.chunking.headings import TITLE_LENGTH
from knowledge.models import KnowledgeChunk, KnowledgeDocument, KnowledgeText

MAX_CACHED_CHARACTERS = 8_000_000  # of cached texts
CHUNK_LABEL = "knowledge.knowledgechunk"

# A sealed text never changes, so a verified one stays the reference for its chunks.
_texts: LruCache[KnowledgeText] = LruCache(
    MAX_CACHED_CHARACTERS, size_of=lambda text: len(text.text)
)


@dataclass(frozen=True, slots=True)
class VerifiedChunks:
    """The chunks that agents may get, and the verified texts; no texts without verification."""

    chunks: Sequence[KnowledgeChunk]
    texts: Mapping[UUID, str] = field(default_factory=dict)


def withhold_chunks(account_id: UUID, chunks: Sequence[KnowledgeChunk]) -> VerifiedChunks:
    """Return the chunks that are slices of sealed texts; all if the account does not verify.

    They are from a queryset `with_verify_on_read`, with their text row, document and source.
    """
    if not chunks or not chunks[0].verify_on_read:
        return VerifiedChunks(chunks)
    documents = [chunk.document for chunk in chunks]
    texts, verdict = _load_verified(account_id, documents, [chunk.text_row for chunk in chunks])
    displaced = _find_displaced(account_id, chunks)
    passed: list[KnowledgeChunk] = []
    refused: list[KnowledgeChunk] = []
    for chunk in chunks:
        related = (chunk.document, chunk.document.source, chunk.text_row)
        if all(verdict.passes(ObjectKey.of(row)) for row in related):
            chunk.text_row = texts[chunk.text_row_id]
            is_sealed = chunk.pk not in displaced and _is_slice(chunk)
            if not is_sealed:
                verdict.mismatches[ObjectKey(CHUNK_LABEL, chunk.pk)] = Reason.CHANGED
        else:
            is_sealed = False
        (passed if is_sealed else refused).append(chunk)
    if refused:
        record_withheld((chunk.pk for chunk in refused), verdict.mismatches)
    return VerifiedChunks(passed, {pk: text.text for pk, text in texts.items()})


def load_sealed_text(
    account_id: UUID, document: KnowledgeDocument, row: KnowledgeText
) -> KnowledgeText | None:
    """Return the text row as it was sealed; None if it or its document differs from the seal."""
    texts, verdict = _load_verified(account_id, [document], [row])
    if all(verdict.passes(ObjectKey.of(each)) for each in (document, document.source, row)):
        return texts[row.pk]
    record_withheld([document.pk], verdict.mismatches)
    return None


def _load_verified(
    account_id: UUID, documents: Iterable[KnowledgeDocument], texts: Iterable[KnowledgeText]
) -> tuple[dict[UUID, KnowledgeText], Verdict]:
    """Return the whole texts, of which some may differ, and the verdict on all rows."""
    by_commit = {(text.pk, text.commit_id): text for text in texts}
    cached = {key[0]: text for key in by_commit if (text := _texts.get(key))}
    missing = [pk for pk, _commit in by_commit if pk not in cached]
    fresh: list[KnowledgeText] = []
    if missing:
        fresh += KnowledgeText.objects.of(account_id).filter(pk__any_of=IdArray(missing))
    sources = {document.source.pk: document.source for document in documents}
    unique = {document.pk: document for document in documents}
    related: list[SealedModel] = [*unique.values(), *sources.values(), *fresh]
    verdict = verify_rows(account_id, related)
    for pk in {*missing} - {row.pk for row in fresh}:
        verdict.erased.add(ObjectKey(KnowledgeText._meta.label_lower, pk))
    for row in fresh:
        if verdict.passes(ObjectKey.of(row)):
            _texts.put((row.pk, row.commit_id), row)
    return cached | {row.pk: row for row in fresh}, verdict


def _is_slice(chunk: KnowledgeChunk) -> bool:
    """Return whether a chunk has the content and the position of its slice of the sealed text."""
    row, document = chunk.text_row, chunk.document
    text, start, end = row.text, chunk.start, chunk.end
    is_paged = row.shape == Shape.PAGES
    return (
        (row.document_id, row.version) == (document.pk, document.version)
        and document.removed_at is None
        and 0 <= start < end
        and chunk.text == text[start:end]
        and chunk.line_start == text.count("\n", 0, start) + 1
        and chunk.line_end == text.count("\n", 0, end - 1) + 1
        and chunk.page == (text.count("\f", 0, start) + 1 if is_paged else None)
        and all(text.find(heading, 0, end + 2 * TITLE_LENGTH) >= 0 for heading in chunk.headings)
    )


_DISPLACED = """
SELECT c.id FROM knowledge_knowledgechunk c
LEFT JOIN knowledge_knowledgechunk p ON p.account_id = c.account_id
 AND p.document_id = c.document_id AND p.index_version = c.index_version
 AND p.chunk_index = c.chunk_index - 1
LEFT JOIN knowledge_knowledgechunk n ON n.account_id = c.account_id
 AND n.document_id = c.document_id AND n.index_version = c.index_version
 AND n.chunk_index = c.chunk_index + 1
WHERE c.account_id = %s AND c.id = ANY (%s::uuid[])
  AND ((p.id IS NULL) <> (c.chunk_index = 0) OR p.start >= c.start OR n.start <= c.start)
"""


def _find_displaced(account_id: UUID, chunks: Iterable[KnowledgeChunk]) -> set[UUID]:
    """Return the chunks whose number does not fit between those of their neighbours."""
    rows = fetch_all(_DISPLACED, [account_id, [chunk.pk for chunk in chunks]])
    return {pk for (pk,) in rows}
