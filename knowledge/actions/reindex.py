"""Re-chunking of existing documents for the index versions of their source."""

from collections.abc import Iterator
from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.database.ids import uuid7
from knowledge.actions.chunks import ChunkedText, replace_chunks
from knowledge.actions.prepare_delivery import parse_text
from knowledge.chunking import Shape
from knowledge.models import KnowledgeDocument, KnowledgeSource, KnowledgeText
from knowledge.parsing.formats import Format
from knowledge.retrieval.cache_version import invalidate_cache

BATCH_SIZE = 20  # documents in a transaction


def reindex_source(source: KnowledgeSource) -> Iterator[int]:
    """Chunk the documents of a source with its index versions; yield the size of each batch.

    Chunks and vectors of an existing version stay. Those of a version that the source no longer
    has are deleted.
    """
    after = UUID(int=0)
    while True:
        with acting(source.account_id):
            texts = _load_next_texts(source, after)
        if not texts:
            return
        chunked_texts = []
        for text in texts:
            document = text.document
            form = Format(document.mime, shape=Shape(text.shape), language=text.language)
            reading = parse_text(
                text.text, form, document.title, document.ref, source.index_versions
            )
            chunked_texts.append(
                ChunkedText(
                    document=document,
                    text=text,
                    chunks=reading.chunks,
                    title_before=document.title,
                )
            )
        with acting(source.account_id):
            replace_chunks(source.account_id, chunked_texts, uuid7())
            invalidate_cache(source.account_id)
        after = texts[-1].document_id
        yield len(texts)


def _load_next_texts(source: KnowledgeSource, after: UUID) -> list[KnowledgeText]:
    rows = KnowledgeDocument.objects.of(source.account_id).not_removed().filter(source=source)
    documents = list(rows.filter(pk__gt=after, version__gt=0).order_by("pk")[:BATCH_SIZE])
    texts = KnowledgeText.objects.of(source.account_id).select_related("document")
    versions = {document.pk: document.version for document in documents}
    return [
        text
        for text in texts.filter(document__in=documents).order_by("document_id", "version")
        if versions[text.document_id] == text.version
    ]
