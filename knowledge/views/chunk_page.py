"""The page of one chunk. The chunks of a document are on the page of the document."""

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render

from kmapp.security.prompt_injection import detect_flags
from kmapp.web.http import WebRequest
from kmapp.web.page_access import page_view
from knowledge.models import KnowledgeChunk
from knowledge.retrieval.search import load_vector_states


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
