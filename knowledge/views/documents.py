"""Pages of documents, chunks and failed documents."""

from contextlib import suppress
from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _

from kmapp.prompt_injection import detect_flags
from kmapp.web.http import WebRequest, paginate
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_with_notice, render_part
from kmapp.web.usage_registry import find_usage
from knowledge.actions.erasure import erase_document
from knowledge.actions.parse_documents import retry_document
from knowledge.models import ChunkQuerySet, KnowledgeChunk, KnowledgeDocument, KnowledgeText
from knowledge.retrieval.citations import slices
from knowledge.retrieval.search import vector_states

CHUNKS = 20  # on one page
PAGE = 50
USES = 10  # latest calls
MOST_CITED = 10  # chunks of a passage


@page_view("GET")
def document(request: WebRequest, pk: UUID) -> HttpResponse:
    account_id = request.account_id
    row = _get_document(request, pk)
    versions = row.source.index_versions
    version = next((each for each in versions if each == request.GET.get("index")), versions[0])
    chunks = KnowledgeChunk.objects.of(account_id).filter(document=row).of_index_version(version)
    cited, position = find_cited(request, chunks)
    number = position // CHUNKS + 1 if cited else request.GET.get("page")
    page = Paginator(chunks.order_by("chunk_index"), CHUNKS).get_page(number)
    texts = KnowledgeText.objects.of(account_id).filter(document=row).defer("text")
    context = {
        "document": row,
        "page": page,
        "pieces": _pieces(account_id, list(page.object_list), version),
        "texts": texts.order_by("-version")[:PAGE],
        "index_version": version,
        "index_versions": versions,
        "cited": cited,
        "is_passage_gone": "chunk" in request.GET and not cited,
    }
    return render(request, "knowledge/documents/detail.html", context)


def find_cited(request: WebRequest, chunks: ChunkQuerySet) -> tuple[list[UUID], int]:
    """Return the chunks of the passage that the address names, and the number of the first."""
    ids = []
    for name in request.GET.getlist("chunk")[:MOST_CITED]:
        with suppress(ValueError):
            ids.append(UUID(name))
    rows = chunks.filter(pk__in=ids).order_by("chunk_index") if ids else chunks.none()
    cited = list(rows.values_list("pk", "chunk_index"))
    return [pk for pk, _number in cited], cited[0][1] if cited else 0


def _pieces(account_id: UUID, chunks: list[KnowledgeChunk], version: str) -> list[dict[str, Any]]:
    """Return the original text split where chunks begin, including gaps between chunks."""
    spans = [
        (chunk.text_row_id, chunk.start, max(after.start, chunk.end))
        for chunk, after in zip(chunks, [*chunks[1:], *chunks[-1:]], strict=True)
    ]
    states = vector_states(account_id, version, [chunk.pk for chunk in chunks])
    return [
        {"chunk": chunk, "original": original, "state": states.get(chunk.pk, "PENDING").lower()}
        for chunk, original in zip(chunks, slices(account_id, spans), strict=True)
    ]


@page_view("GET")
def chunk(request: WebRequest, pk: UUID) -> HttpResponse:
    account_id = request.account_id
    rows = KnowledgeChunk.objects.of(account_id)
    row = get_object_or_404(
        rows.select_related("document__source", "text_row").defer("text_row__text"), pk=pk
    )
    same_version = rows.filter(document=row.document).of_index_version(row.index_version)
    adjacent = (row.chunk_index - 1, row.chunk_index + 1)
    states = vector_states(account_id, row.index_version, [row.pk])
    context = {
        "chunk": row,
        "document": row.document,
        "neighbours": same_version.filter(chunk_index__in=adjacent).order_by("chunk_index"),
        "state": states.get(row.pk, "PENDING").lower(),
        "flags": detect_flags(row.text),
        "uses": find_usage(account_id, row.pk, limit=USES),
    }
    return render(request, "knowledge/chunks/detail.html", context)


@page_view("GET")
def failures(request: WebRequest) -> HttpResponse:
    rows = KnowledgeDocument.objects.of(request.account_id).present()
    failed = rows.filter(state=KnowledgeDocument.State.FAILED).select_related("source")
    page = paginate(request, failed.newest_first())
    return render_part(request, "knowledge/documents/failures.html", "list", {"page": page})


@page_view("POST")
def retry(request: WebRequest, pk: UUID) -> HttpResponse:
    retry_document(request.account_id, pk)
    return redirect_with_notice(
        request, _("Parsing the document again."), "knowledge:document", pk=pk
    )


@page_view("GET", "POST")
def erase(request: WebRequest, pk: UUID) -> HttpResponse:
    row = _get_document(request, pk)
    if request.method != "POST":
        return render(request, "knowledge/documents/erase.html", {"document": row})
    erase_document(request.account_id, pk, request.actor)
    return redirect_with_notice(
        request,
        _("Erased. Citations now return the commit that erased it."),
        "knowledge:source",
        pk=row.source_id,
    )


def _get_document(request: WebRequest, pk: UUID) -> KnowledgeDocument:
    rows = KnowledgeDocument.objects.of(request.account_id).select_related("source", "commit")
    return get_object_or_404(rows, pk=pk)
