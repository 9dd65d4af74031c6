"""Re-chunking of existing documents for the index versions of their source."""

from collections.abc import Iterator
from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.database.ids import uuid7
from knowledge.actions.chunks import settle_chunks
from knowledge.actions.ingest import cuttings_of
from knowledge.actions.prepare_delivery import Reading, read
from knowledge.chunking import Shape
from knowledge.models import KnowledgeDocument, KnowledgeSource, KnowledgeText
from knowledge.parsing.formats import Format
from knowledge.retrieval.cache_version import touch

BLOCK = 20  # documents a transaction


def cut_again(source: KnowledgeSource) -> Iterator[int]:
    """Bring the chunks of a source to its index versions, in blocks; yields how many each had.

    A version that is known already keeps its chunks and vectors; one it no longer has loses them.
    """
    after = UUID(int=0)
    while True:
        with acting(source.account_id):
            texts = _next(source, after)
        if not texts:
            return
        cuttings = [
            cutting
            for text in texts
            for cutting in cuttings_of(
                text.document, text, _reading(source, text), text.document.title
            )
        ]
        with acting(source.account_id):
            settle_chunks(source.account_id, cuttings, uuid7())
            touch(source.account_id)
        after = texts[-1].document_id
        yield len(texts)


def _next(source: KnowledgeSource, after: UUID) -> list[KnowledgeText]:
    """Return the current texts of the next documents."""
    rows = KnowledgeDocument.objects.of(source.account_id).present().filter(source=source)
    documents = list(rows.filter(pk__gt=after, version__gt=0).order_by("pk")[:BLOCK])
    texts = KnowledgeText.objects.of(source.account_id).select_related("document")
    versions = {document.pk: document.version for document in documents}
    return [
        text
        for text in texts.filter(document__in=documents).order_by("document_id", "version")
        if versions[text.document_id] == text.version
    ]


def _reading(source: KnowledgeSource, text: KnowledgeText) -> Reading:
    form = Format(text.document.mime, shape=Shape(text.shape), language=text.language)
    return read(text.text, form, text.document.title, text.document.ref, source.index_versions)
