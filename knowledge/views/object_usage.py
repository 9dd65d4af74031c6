"""Documents that link to other objects, and the chunks of documents, which calls cite."""

from uuid import UUID

from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from kmapp.search.allowed_objects import AllowedObjects, Collection
from kmapp.search.id_array_lookup import IdArray
from kmapp.search.variants import DEFAULT_VARIANT
from kmapp.search.word_search import find_with_all_terms
from kmapp.text.terms import extract_terms
from kmapp.web.object_usage import ObjectUsage, UsageEntry, register_parts, register_usage
from knowledge.chunking.index_versions import collection_name
from knowledge.models import KnowledgeChunk

MAX_CHUNKS = 50  # with links to one object
LINK = "memory:{pk}"  # as in [[memory:ID]]


@register_parts
def list_chunks(account_id: UUID, pk: UUID) -> list[UUID]:
    """Return the chunks of a document, which calls cite."""
    rows = KnowledgeChunk.objects.of(account_id).filter(document_id=pk)
    return list(rows.values_list("pk", flat=True))


@register_usage
def list_linking_documents(account_id: UUID, pk: UUID, limit: int) -> ObjectUsage:
    """Return the documents that link to a memory. The lexical index contains links as terms."""
    index = DEFAULT_VARIANT.index_version
    rows = KnowledgeChunk.objects.of(account_id).of_index_version(index)
    collection = Collection(account_id=account_id, name=collection_name(index))
    link = LINK.format(pk=pk)
    ids = find_with_all_terms(
        collection, extract_terms(link), within=AllowedObjects.from_queryset(rows), limit=MAX_CHUNKS
    )
    chunks = rows.filter(pk__any_of=IdArray(ids), text__contains=f"[[{link}").select_related(
        "document"
    )
    documents = {chunk.document_id: chunk.document for chunk in chunks.order_by("document_id")}
    entries = [
        UsageEntry(
            at=document.updated_at,
            title=str(document),
            by=document.ref,
            url=reverse("knowledge:document", args=[document.pk]),
        )
        for document in documents.values()
    ]
    return ObjectUsage(label=_("Documents that link to it"), latest=entries[:limit])
