"""Pages of sources: state, freshness, progress, erasure."""

from typing import Any
from uuid import UUID

from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _

from kmapp.providers.active_models import active_model
from kmapp.search.models import Vector
from kmapp.web.after_commit import AfterCommit
from kmapp.web.http import WebRequest, paginate
from kmapp.web.page_access import page_view
from kmapp.web.responses import format_api_command, redirect_with_notice, render_part, render_polled
from knowledge.actions.erasure import erase_source
from knowledge.models import ChunkQuerySet, KnowledgeChunk, KnowledgeDocument, KnowledgeSource
from knowledge.views.passage_search import (
    TEMPLATE,
    PassageSearchForm,
    list_source_names,
    search_passages,
)

FIRST_DOCUMENT = (
    '{"source": {"name": "handbook"}, "documents": '
    '[{"ref": "tea.md", "text": "# Tea\\n\\nOolong takes 95 degrees."}]}'
)


@page_view("GET")
def sources(request: WebRequest) -> HttpResponse | AfterCommit:
    """Render the list of sources, or the passages that match a query."""
    form = PassageSearchForm(request.GET, sources=list_source_names(request.account_id))
    if form.data.get("q", "").strip():
        return search_passages(request, form)
    rows = KnowledgeSource.objects.of(request.account_id).of_documents().with_document_counts()
    rows = rows.filter(**form.source_filters())
    context = {
        "form": form,
        "page": paginate(request, rows.by_name()),
        "first_command": format_api_command(request, "knowledge:api_ingest", FIRST_DOCUMENT),
    }
    return render_part(request, TEMPLATE, "list", context)


@page_view("GET")
def source(request: WebRequest, pk: UUID) -> HttpResponse:
    account_id = request.account_id
    row = _get_source(request, pk)
    state = request.GET.get("state", "")
    documents = KnowledgeDocument.objects.of(account_id).not_removed().filter(source=row)
    if state in KnowledgeDocument.State.values:
        documents = documents.filter(state=state)
    page = paginate(request, documents.newest_first())
    chunks = KnowledgeChunk.objects.of(account_id).filter(document__in=list(page.object_list))
    chunk_counts = dict(chunks.values_list("document").annotate(Count("pk")).order_by())
    pending = dict(
        _list_pending(account_id, chunks).values_list("document").annotate(Count("pk")).order_by()
    )
    context: dict[str, Any] = {
        "source": row,
        "page": page,
        "rows": [
            {
                "document": each,
                "chunks": chunk_counts.get(each.pk, 0),
                "pending": pending.get(each.pk, 0),
            }
            for each in page
        ],
        "state": state,
        "states": KnowledgeDocument.State.choices,
        "progress": _load_progress(account_id, row),
    }
    return render_part(request, "knowledge/sources/detail.html", "list", context)


def _list_pending(account_id: UUID, chunks: ChunkQuerySet) -> ChunkQuerySet:
    """Return those of the chunks that have no vector of the active model yet."""
    vectors = Vector.objects.of(account_id).filter(
        collection__startswith="knowledge.", state=Vector.State.PENDING, model=active_model()
    )
    return chunks.filter(pk__in=vectors.values("object_id"))


def _load_progress(account_id: UUID, row: KnowledgeSource) -> dict[str, int]:
    chunks = KnowledgeChunk.objects.of(account_id).filter(document__source=row)
    return {"chunks": chunks.count(), "unembedded": _list_pending(account_id, chunks).count()}


@page_view("GET")
def progress(request: WebRequest, pk: UUID) -> HttpResponse:
    row = _get_source(request, pk)
    context = {"source": row, "progress": _load_progress(request.account_id, row)}
    return render_polled(request, "knowledge/sources/detail.html#progress", context)


@page_view("GET", "POST")
def erase(request: WebRequest, pk: UUID) -> HttpResponse:
    row = _get_source(request, pk)
    if request.method != "POST":
        return render(request, "knowledge/sources/erase.html", {"source": row})
    erase_source(request.account_id, pk, request.actor)
    return redirect_with_notice(
        request, _("Erased. Citations now return the commit that erased it."), "knowledge:sources"
    )


def _get_source(request: WebRequest, pk: UUID) -> KnowledgeSource:
    rows = KnowledgeSource.objects.of(request.account_id).of_documents().with_document_counts()
    return get_object_or_404(rows, pk=pk)
