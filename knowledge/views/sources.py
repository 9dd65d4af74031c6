"""Pages of sources: state, freshness, progress, erasure."""

from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.db.models import Count
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from kmapp.search.models import Vector
from kmapp.web.http import WebRequest, account_id_for, actor_for, fragment, respond_unless_unchanged
from kmapp.web.notices import notify_success
from kmapp.web.page_access import reviewer_required
from knowledge.actions.erasure import erase_source
from knowledge.models import KnowledgeChunk, KnowledgeDocument, KnowledgeSource

PAGE = 50


@require_safe
@reviewer_required
def sources(request: WebRequest) -> HttpResponse:
    rows = KnowledgeSource.objects.of(account_id_for(request)).of_documents().counted()
    context = {
        "page": Paginator(rows.order_by("name", "pk"), PAGE).get_page(request.GET.get("page")),
        "first_command": _first_command(request),
    }
    return render(request, fragment(request, "knowledge/sources/index.html", "list"), context)


def _first_command(request: WebRequest) -> str:
    """Return the example command of an empty list: the delivery of a first document."""
    address = request.build_absolute_uri(reverse("knowledge:api_ingest"))
    return (
        f"curl -s {address} -H 'Authorization: Bearer YOUR_KEY' "
        "-H 'Content-Type: application/json' "
        """-d '{"source": {"name": "handbook"}, "documents": """
        """[{"ref": "tea.md", "text": "# Tea\\n\\nOolong takes 95 degrees."}]}'"""
    )


@require_safe
@reviewer_required
def source(request: WebRequest, pk: UUID) -> HttpResponse:
    account_id = account_id_for(request)
    row = _get_source(request, pk)
    state = request.GET.get("state", "")
    documents = KnowledgeDocument.objects.of(account_id).present().filter(source=row)
    if state in KnowledgeDocument.State.values:
        documents = documents.filter(state=state)
    page = Paginator(documents.newest_first(), PAGE).get_page(request.GET.get("page"))
    chunks = KnowledgeChunk.objects.of(account_id).filter(document__in=list(page.object_list))
    chunk_counts = dict(chunks.values_list("document").annotate(Count("pk")).order_by())
    context: dict[str, Any] = {
        "source": row,
        "page": page,
        "rows": [{"document": each, "chunks": chunk_counts.get(each.pk, 0)} for each in page],
        "state": state,
        "states": KnowledgeDocument.State.choices,
        "progress": _progress(account_id, row),
    }
    return render(request, fragment(request, "knowledge/sources/detail.html", "list"), context)


def _progress(account_id: UUID, row: KnowledgeSource) -> dict[str, int]:
    """How far workers are: files to be read, texts to be embedded."""
    chunks = KnowledgeChunk.objects.of(account_id).filter(document__source=row)
    vectors = Vector.objects.of(account_id).filter(
        collection__startswith="knowledge.", state=Vector.State.PENDING
    )
    return {
        "chunks": chunks.count(),
        "unembedded": vectors.filter(object_id__in=chunks.values("pk")).count(),
    }


@require_safe
@reviewer_required
def progress(request: WebRequest, pk: UUID) -> HttpResponse:
    row = _get_source(request, pk)
    context = {"source": row, "progress": _progress(account_id_for(request), row)}
    return respond_unless_unchanged(
        request, render(request, "knowledge/sources/detail.html#progress", context)
    )


@require_http_methods(["GET", "HEAD", "POST"])
@reviewer_required
def erase(request: WebRequest, pk: UUID) -> HttpResponse:
    """Asks once, and says what goes."""
    row = _get_source(request, pk)
    if request.method != "POST":
        return render(request, "knowledge/sources/erase.html", {"source": row})
    erase_source(account_id_for(request), pk, actor_for(request))
    notify_success(request, _("Erased. Citations now return the commit that erased it."))
    return redirect("knowledge:sources")


def _get_source(request: WebRequest, pk: UUID) -> KnowledgeSource:
    rows = KnowledgeSource.objects.of(account_id_for(request)).of_documents().counted()
    return get_object_or_404(rows, pk=pk)
