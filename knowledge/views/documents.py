"""Pages of a document: its text or its chunks, its progress, and its erasure."""

from contextlib import suppress
from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.db.models import Max, Min
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _

from kmapp.providers.active_models import active_model
from kmapp.search.models import Vector
from kmapp.web.actor_names import list_actor_names
from kmapp.web.http import WebRequest
from kmapp.web.markdown import MarkedLines, render_markdown, render_plain
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_with_notice, render_polled
from knowledge.actions.document_editing import EDITABLE, fits_editor, fits_page, load_text
from knowledge.actions.erasure import erase_document
from knowledge.chunking.index_versions import collection_name
from knowledge.models import ChunkQuerySet, KnowledgeChunk, KnowledgeDocument, KnowledgeText
from knowledge.parsing.formats import MARKDOWN
from knowledge.retrieval.citations import load_slices
from knowledge.retrieval.search import load_vector_states

CHUNKS_PER_PAGE = 20
MAX_VERSIONS = 5  # the latest; all are on a page of their own
MAX_CITED = 10  # chunks of a passage
_CHUNK_PARAMETERS = frozenset({"view", "index", "page"})  # of the page with chunks


@page_view("GET")
def document(request: WebRequest, pk: UUID) -> HttpResponse:
    """Render the text of a document, either as a whole or split into its chunks."""
    row = get_document(request, pk)
    texts = KnowledgeText.objects.of(request.account_id).filter(document=row).defer("text")
    context = {
        "document": row,
        "texts": texts.order_by("-version")[:MAX_VERSIONS],
        "names": list_actor_names(each for each in (row.owner, row.reviewer) if each),
        "is_readable": row.mime in EDITABLE and row.version and fits_page(row),
        "is_editable": fits_editor(row),
        "progress": load_progress(row) if row.state != KnowledgeDocument.State.FAILED else None,
    }
    wants_chunks = not _CHUNK_PARAMETERS.isdisjoint(request.GET)
    load = _load_chunks if wants_chunks or not context["is_readable"] else _load_reading
    return render(request, "knowledge/documents/detail.html", context | load(request, row))


def _load_reading(request: WebRequest, row: KnowledgeDocument) -> dict[str, Any]:
    """Return the rendered text, with the cited passage marked."""
    chunks = KnowledgeChunk.objects.of(row.account_id).filter(document=row)
    ids = parse_cited(request)
    cited = chunks.filter(pk__in=ids).aggregate(Min("line_start"), Max("line_end")) if ids else {}
    first, last = cited.get("line_start__min"), cited.get("line_end__max")
    passage = MarkedLines(first=first, last=last) if first and last else None
    text = load_text(row, row.version).text
    title = str(row)
    if row.mime == MARKDOWN.mime:
        rendered = render_markdown(text, account_id=row.account_id, title=title, passage=passage)
    else:
        rendered = render_plain(text, passage=passage)
    return {"reading": rendered, "is_passage_gone": "chunk" in request.GET and not passage}


def _load_chunks(request: WebRequest, row: KnowledgeDocument) -> dict[str, Any]:
    """Return a page of chunks, by default that of the cited passage."""
    account_id, versions = row.account_id, row.source.index_versions
    version = next((each for each in versions if each == request.GET.get("index")), versions[0])
    chunks = KnowledgeChunk.objects.of(account_id).filter(document=row).of_index_version(version)
    cited, position = _find_cited(request, chunks)
    number = request.GET.get("page") or position // CHUNKS_PER_PAGE + 1
    page = Paginator(chunks.order_by("chunk_index"), CHUNKS_PER_PAGE).get_page(number)
    return {
        "page": page,
        "pieces": _split_at_chunks(account_id, list(page.object_list), version),
        "index_version": version,
        "index_versions": versions,
        "cited": cited,
        "is_passage_gone": "chunk" in request.GET and not cited,
    }


def load_progress(row: KnowledgeDocument) -> dict[str, int]:
    """Return the number of chunks, and of those that are found by keyword only."""
    version = row.source.index_versions[0]
    chunks = KnowledgeChunk.objects.of(row.account_id).filter(document=row)
    chunks = chunks.of_index_version(version)
    pending = Vector.objects.of(row.account_id).filter(
        collection=collection_name(version), state=Vector.State.PENDING, model=active_model()
    )
    number = chunks.count()
    without = chunks.filter(pk__in=pending.values("object_id")).count()
    return {"chunks": number, "pending": without, "embedded": number - without}


@page_view("GET")
def progress(request: WebRequest, pk: UUID) -> HttpResponse:
    row = get_document(request, pk)
    context = {"document": row, "progress": load_progress(row)}
    return render_polled(request, "knowledge/documents/detail.html#progress", context)


def parse_cited(request: WebRequest) -> list[UUID]:
    """Return the ids of the chunks that the address names."""
    ids = []
    for name in request.GET.getlist("chunk")[:MAX_CITED]:
        with suppress(ValueError):
            ids.append(UUID(name))
    return ids


def _find_cited(request: WebRequest, chunks: ChunkQuerySet) -> tuple[list[UUID], int]:
    """Return the chunks of the cited passage, and the number of the first."""
    ids = parse_cited(request)
    rows = chunks.filter(pk__in=ids).order_by("chunk_index") if ids else chunks.none()
    cited = list(rows.values_list("pk", "chunk_index"))
    return [pk for pk, _number in cited], cited[0][1] if cited else 0


def _split_at_chunks(
    account_id: UUID, chunks: list[KnowledgeChunk], version: str
) -> list[dict[str, Any]]:
    """Return the original text split where chunks begin, including gaps between chunks."""
    spans = [
        (chunk.text_row_id, chunk.start, max(after.start, chunk.end))
        for chunk, after in zip(chunks, [*chunks[1:], *chunks[-1:]], strict=True)
    ]
    states = load_vector_states(account_id, version, [chunk.pk for chunk in chunks])
    return [
        {"chunk": chunk, "original": original, "state": states.get(chunk.pk, "PENDING").lower()}
        for chunk, original in zip(chunks, load_slices(account_id, spans), strict=True)
    ]


@page_view("GET", "POST")
def erase(request: WebRequest, pk: UUID) -> HttpResponse:
    row = get_document(request, pk)
    if request.method != "POST":
        return render(request, "knowledge/documents/erase.html", {"document": row})
    erase_document(request.account_id, pk, request.actor)
    return redirect_with_notice(
        request,
        _("Erased. Citations now return the commit that erased it."),
        "knowledge:source",
        pk=row.source_id,
    )


def get_document(request: WebRequest, pk: UUID) -> KnowledgeDocument:
    rows = KnowledgeDocument.objects.of(request.account_id).select_related("source", "commit")
    return get_object_or_404(rows, pk=pk)
