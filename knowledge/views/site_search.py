"""Documents and lore in the site search."""

from uuid import UUID

from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from kmapp.search.id_array_lookup import IdArray
from kmapp.search.variants import DEFAULT_VARIANT
from kmapp.web.site_search.name_search import find_named
from kmapp.web.site_search.registry import Matches, SearchProvider, SiteMatch, SiteSearch, register
from kmapp.web.site_search.text_search import find_ids
from knowledge.chunking.index_versions import collection_name
from knowledge.models import KnowledgeChunk, KnowledgeSource, LorebookEntry
from knowledge.views.passage_search import build_passage_url, extract_plain_lines

INDEX = DEFAULT_VARIANT.index_version
IS = {"enabled": True, "disabled": False}


def find_documents(search: SiteSearch) -> Matches:
    """Find documents by the best of their chunks."""
    query = search.query
    chunks = KnowledgeChunk.objects.of(search.account_id).of_index_version(INDEX)
    if trust := query.filters.get("trust"):
        chunks = chunks.filter(document__source__trust=trust)
    if source := query.filters.get("source"):
        chunks = chunks.filter(document__source__name=source)
    if query.id:
        named = chunks.filter(Q(pk=query.id) | Q(document_id=query.id))
        ids = list(named.order_by("chunk_index").values_list("pk", flat=True)[:1])
    else:
        ids = find_ids(search, collection_name(INDEX), chunks)
    rows = KnowledgeChunk.objects.of(search.account_id).filter(pk__any_of=IdArray(ids))
    by_id = {chunk.pk: chunk for chunk in rows.select_related("document")}
    best: dict[UUID, KnowledgeChunk] = {}
    for chunk in (by_id[pk] for pk in ids if pk in by_id):
        if query.has_phrases(chunk.text):
            best.setdefault(chunk.document_id, chunk)
    hits = [_build_hit(search, chunk) for chunk in list(best.values())[: search.limit]]
    return Matches(hits=hits, number=len(best))


def _build_hit(search: SiteSearch, chunk: KnowledgeChunk) -> SiteMatch:
    title = str(chunk.document)
    return SiteMatch(
        url=build_passage_url(chunk.document_id, [chunk.pk]),
        title=search.query.mark(title),
        passage=search.query.passage(extract_plain_lines(chunk.text, title)),
        meta=" › ".join(heading for heading in chunk.headings if heading != title),
    )


def find_lore(search: SiteSearch) -> Matches:
    rows = LorebookEntry.objects.of(search.account_id)
    if chosen := search.query.filters.get("is"):
        rows = rows.filter(enabled=IS[chosen])
    ids = find_named(search, rows, "name", "keys")
    entries = rows.select_related("source").in_bulk(ids[: search.limit])
    hits = [
        SiteMatch(
            url=reverse("knowledge:lore_entry", args=[entry.pk]),
            title=search.query.mark(str(entry)),
            passage=search.query.passage(", ".join(entry.keys)),
            badge="" if entry.enabled else "disabled",
            meta=entry.source.name,
        )
        for entry in (entries[pk] for pk in ids if pk in entries)
    ]
    return Matches(hits=hits, number=len(ids))


register(
    SearchProvider(
        name="document",
        label=_("Documents"),
        icon="book-open",
        position=40,
        find=find_documents,
        filters={"trust": KnowledgeSource.Trust.values, "source": None},
    )
)
register(
    SearchProvider(
        name="lore",
        label=_("Lore"),
        icon="book-marked",
        position=50,
        find=find_lore,
        filters={"is": list(IS)},
    )
)
