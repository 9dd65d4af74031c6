"""Re-chunking of existing documents for the index versions of their source."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from uuid import UUID

from django.db.models import F, QuerySet

from kmapp.accounts.acting import acting
from kmapp.database.ids import uuid7
from knowledge.actions.chunks import ChunkedText, replace_chunks
from knowledge.actions.prepare_delivery import parse_text
from knowledge.actions.sources import lock_source
from knowledge.chunking import Chunk, Shape
from knowledge.models import KnowledgeSource, KnowledgeText
from knowledge.parsing.formats import Format
from knowledge.parsing.sandbox import CannotParse
from knowledge.retrieval.cache_version import invalidate_cache

BATCH_SIZE = 20  # documents in a transaction


def reindex_source(
    source: KnowledgeSource, report_refusal: Callable[[str], None] = lambda reason: None
) -> Iterator[int]:
    """Chunk the documents of a source with its index versions; yield the size of each batch.

    Chunks and vectors of an existing version stay. Those of a version that the source no longer
    has are deleted. Texts are chunked outside of any transaction. A document that changed meanwhile
    is skipped, because its delivery has chunked the new text. A document that cannot be chunked
    keeps its chunks; `report_refusal` is called with its path and the reason.
    """
    after = UUID(int=0)
    while True:
        with acting(source.account_id):
            following = _select_current_texts(source).filter(document_id__gt=after)
            texts = list(following.order_by("document_id")[:BATCH_SIZE])
        if not texts:
            return
        chunks: dict[UUID, Mapping[str, Sequence[Chunk]]] = {}
        for text in texts:
            try:
                chunks[text.pk] = _split_text(text, source)
            except CannotParse as error:
                report_refusal(f"{text.document.ref}: {error}")
        with acting(source.account_id):
            locked = lock_source(source.account_id, source.pk)
            if locked is None or locked.index_versions != source.index_versions:
                return  # erased, or chunked with other versions by another process
            still_current = _select_current_texts(source).filter(pk__in=chunks).defer("text")
            chunked_texts = [
                ChunkedText(
                    document=text.document,
                    text=text,
                    chunks=chunks[text.pk],
                    title_before=text.document.title,
                )
                for text in still_current
            ]
            replace_chunks(source.account_id, chunked_texts, uuid7())
            invalidate_cache(source.account_id)
        after = texts[-1].document_id
        yield len(texts)


def _select_current_texts(source: KnowledgeSource) -> "QuerySet[KnowledgeText]":
    """Return the current texts of the documents that the source still has."""
    texts = KnowledgeText.objects.of(source.account_id).select_related("document")
    return texts.filter(
        document__source=source, document__removed_at=None, version=F("document__version")
    )


def _split_text(text: KnowledgeText, source: KnowledgeSource) -> Mapping[str, Sequence[Chunk]]:
    document = text.document
    form = Format(document.mime, shape=Shape(text.shape), language=text.language)
    versions = source.index_versions
    return parse_text(text.text, form, document.title, document.ref, versions).chunks
