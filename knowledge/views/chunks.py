"""Chunks on pages: those of a document with its text, and the page of one."""

from contextlib import suppress
from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render

from kmapp.security.prompt_injection import detect_flags
from kmapp.web.http import WebRequest
from kmapp.web.page_access import page_view
from knowledge.models import ChunkQuerySet, KnowledgeChunk, KnowledgeDocument
from knowledge.retrieval.citations import load_slices
from knowledge.retrieval.search import load_vector_states

CHUNKS_PER_PAGE = 20  # on one page
MAX_CITED = 10  # chunks of a passage


def load_chunks(request: WebRequest, row: KnowledgeDocument) -> dict[str, Any]:
    """Return a page of chunks, by default that of the cited passage."""
    account_id, versions = row.account_id, row.source.index_versions
    version = next((each for each in versions if each == request.GET.get("index")), versions[0])
    chunks = KnowledgeChunk.objects.of(account_id).filter(document=row).of_index_version(version)
    cited, position = _find_cited(request, chunks)
    number = position // CHUNKS_PER_PAGE + 1 if cited else request.GET.get("page")
    page = Paginator(chunks.order_by("chunk_index"), CHUNKS_PER_PAGE).get_page(number)
    return {
        "page": page,
        "pieces": _split_at_chunks(account_id, list(page.object_list), version),
        "index_version": version,
        "index_versions": versions,
        "cited": cited,
        "is_passage_gone": "chunk" in request.GET and not cited,
    }


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


@page_view("GET")
def chunk(request: WebRequest, pk: UUID) -> HttpResponse:
    account_id = request.account_id
    rows = KnowledgeChunk.objects.of(account_id)
    row = get_object_or_404(
        rows.select_related("document__source", "text_row").defer("text_row__text"), pk=pk
    )
    same_version = rows.filter(document=row.document).of_index_version(row.index_version)
    adjacent = (row.chunk_index - 1, row.chunk_index + 1)
    states = load_vector_states(account_id, row.index_version, [row.pk])
    context = {
        "chunk": row,
        "document": row.document,
        "neighbours": same_version.filter(chunk_index__in=adjacent).order_by("chunk_index"),
        "state": states.get(row.pk, "PENDING").lower(),
        "flags": detect_flags(row.text),
    }
    return render(request, "knowledge/chunks/detail.html", context)
