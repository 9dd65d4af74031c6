"""Permanent erasure of originals, texts, chunks, postings and vectors."""

from collections.abc import Sequence
from uuid import UUID

from django.db import connection
from django.utils import timezone

from kmapp.accounts.actors import Actor
from kmapp.accounts.erasure_registry import erase_copies
from kmapp.api.models import IdempotentRequest
from kmapp.database.server_response_timeout import extend_statement_timeout
from kmapp.errors import NotFound
from kmapp.ledger.actions import Recording, recording
from kmapp.ledger.models import Note, Seal
from kmapp.outbox.failed_deliveries import clear_error_messages
from kmapp.search.id_array_lookup import IdArray
from kmapp.search.vector_storage import drop_vectors
from kmapp.search.word_index import remove_documents
from knowledge.actions.images import IMAGES, delete_unused_images
from knowledge.actions.sources import lock_source_of
from knowledge.chunking.index_versions import INDEX_VERSIONS, collection_name
from knowledge.models import (
    ErasedKnowledge,
    KnowledgeChunk,
    KnowledgeDocument,
    KnowledgeDraft,
    KnowledgePiece,
    KnowledgeSource,
    KnowledgeText,
    LorebookEntry,
)
from knowledge.retrieval.cache_version import invalidate_cache
from knowledge.retrieval.citations import find_gone_error

ERASURE_SECONDS = 60  # for a statement that deletes all chunks of a large source


def erase_document(account_id: UUID, document_id: UUID, actor: Actor) -> Recording:
    """Erase one document. Use inside `acting`."""
    lock_source_of(account_id, document_id)
    rows = KnowledgeDocument.objects.of(account_id).filter(pk=document_id)
    if not rows.select_for_update(no_key=True).exists():
        raise _build_missing_error(account_id, document_id, "document")
    with recording(account_id, actor) as commit:
        _erase_documents(account_id, [document_id], commit)
        _erase_inputs(account_id, [document_id])
    return commit


def erase_source(account_id: UUID, source_id: UUID, actor: Actor) -> Recording:
    """Erase a source with its documents and lore. Use inside `acting`."""
    rows = KnowledgeSource.objects.of(account_id).filter(pk=source_id)
    source = rows.select_for_update(no_key=True).first()
    if source is None:
        raise _build_missing_error(account_id, source_id, "source")
    documents = KnowledgeDocument.objects.of(account_id).filter(source=source)
    ids = list(documents.values_list("pk", flat=True))
    lore = list(LorebookEntry.objects.of(account_id).filter(source=source))
    with recording(account_id, actor) as commit:
        _erase_documents(account_id, ids, commit)
        for row in (*lore, source):
            commit.erase(row._meta.label_lower, row.pk)
        lore_ids = [row.pk for row in lore]
        _create_tombstones(account_id, [source.pk, *lore_ids], commit)
        erase_copies(account_id, lore_ids)  # first: it waits for responses that are being stored
        _erase_inputs(account_id, [*ids, source.pk, *lore_ids])
        LorebookEntry.objects.of(account_id).filter(pk__in=lore_ids).delete()
        rows.delete()
    return commit


def _build_missing_error(account_id: UUID, pk: UUID, noun: str) -> Exception:
    return find_gone_error(account_id, pk) or NotFound(f"{noun} not found.")


def _erase_documents(account_id: UUID, ids: Sequence[UUID], commit: Recording) -> None:
    extend_statement_timeout(connection, ERASURE_SECONDS)
    these = IdArray(ids)
    texts = KnowledgeText.objects.of(account_id).filter(document__any_of=these)
    text_ids = list(texts.values_list("pk", flat=True))
    for pk in ids:
        commit.erase(KnowledgeDocument._meta.label_lower, pk)
    for pk in text_ids:
        commit.erase(KnowledgeText._meta.label_lower, pk)
    _create_tombstones(account_id, ids, commit)
    _erase_inputs(account_id, text_ids)
    chunks = KnowledgeChunk.objects.of(account_id).filter(document__any_of=these)
    # Embedding jobs also lock chunks before their vectors, so that none can deadlock.
    locked_chunks = chunks.order_by("pk").select_for_update()
    chunk_ids = list(locked_chunks.values_list("pk", flat=True))
    collections = [collection_name(version) for version in INDEX_VERSIONS]
    clear_error_messages(account_id, [*ids, *chunk_ids])
    remove_documents(account_id, collections, chunk_ids)
    drop_vectors(account_id, collections, chunk_ids)
    # Copies of older versions name the document, because the chunks of these versions are deleted.
    erase_copies(account_id, [*ids, *chunk_ids])
    chunks.delete()
    drafts = KnowledgeDraft.objects.of(account_id).filter(document__any_of=these)
    illustrated = [
        text
        for rows in (texts, drafts)
        for text in rows.filter(text__contains=IMAGES).values_list("text", flat=True)
    ]
    texts.delete()
    drafts.delete()
    delete_unused_images(account_id, illustrated)
    KnowledgePiece.objects.of(account_id).filter(document__any_of=these).delete()
    KnowledgeDocument.objects.of(account_id).filter(id__any_of=these).delete()
    invalidate_cache(account_id)


def _create_tombstones(account_id: UUID, ids: Sequence[UUID], commit: Recording) -> None:
    now = timezone.now()
    ErasedKnowledge.objects.bulk_create(
        ErasedKnowledge(id=pk, account_id=account_id, erased_at=now, commit_id=commit.id)
        for pk in ids
    )


def _erase_inputs(account_id: UUID, ids: Sequence[UUID]) -> None:
    """Erase the inputs of the rows' commits and the stored responses that name them."""
    seals = Seal.objects.of(account_id).filter(object_id__any_of=IdArray(ids))
    notes = Note.objects.of(account_id).filter(commit_id__in=seals.values("commit_id"))
    notes.update(salt=None, input=None, reason="")
    IdempotentRequest.objects.of(account_id).naming(list(ids)).erase_responses()
