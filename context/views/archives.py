"""Pages of tool results: list, detail, and retention."""

from functools import partial
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _

from context.actions.archives import erase_archives, expired_archives
from context.archives.passage_selection import score_by_words
from context.archives.passage_splitting import split_passages
from context.archives.placeholders import render_placeholder
from context.models import ContextSettings, ToolResultArchive
from context.views.filters import ArchiveFilter
from context.views.retention_form import RetentionForm
from context.views.settings import save_form_values
from kmapp.accounts.erasure_registry import prepare_erasure
from kmapp.accounts.permissions import Permission
from kmapp.search.models import Vector
from kmapp.text import token_counter
from kmapp.web.actor_names import list_actor_names
from kmapp.web.after_commit import AfterCommit
from kmapp.web.http import WebRequest, get_row_or_404, paginate, parse_reason
from kmapp.web.page_access import page_view
from kmapp.web.responses import format_api_command, redirect_with_notice, render_form, render_part

MAX_CHARACTERS = 20_000  # characters of a result on its page
MAX_EXPIRED = 50  # expired results on the page
FIRST_RESULT = '{"tool_name": "search", "threshold": 20, "result": "The tea room opens at nine."}'


@page_view("GET")
def archives(request: WebRequest) -> HttpResponse:
    account_id = request.account_id
    rows = ToolResultArchive.objects.of(account_id).briefly().order_by("-created_at", "-pk")
    filtered = ArchiveFilter(request.GET, queryset=rows)
    settings = ContextSettings.objects.get_or_default(account_id)
    context = {
        "filter": filtered,
        "page": paginate(request, filtered.qs),
        "narrowed": filtered.is_narrowed,
        "due": expired_archives(account_id, settings.retention_days).count(),
        "first_command": format_api_command(request, "context:api_results", FIRST_RESULT),
    }
    return render_part(request, "context/archives/index.html", "list", context)


@page_view("GET")
def archive(request: WebRequest, pk: UUID) -> HttpResponse:
    """Show a result, with the best passages for a query."""
    account_id = request.account_id
    row = get_object_or_404(
        ToolResultArchive.objects.of(account_id).select_related("commit"), pk=pk
    )
    query = request.GET.get("about", "").strip()[:500]
    context = {
        "archive": row,
        "query": query,
        "passages": _best_passages(row, query) if query else [],
        "text": row.result_full[:MAX_CHARACTERS],
        "left_out": max(0, row.result_length - MAX_CHARACTERS),
        "whole_tokens": token_counter.count_tokens(row.result_full),
        "placeholder": render_placeholder(row.to_placeholder(), row.language),
        "embedding": _find_embedding_state(account_id, pk),
        "names": list_actor_names([row.created_by]),
        "may_erase": Permission.ERASE in request.permissions,
    }
    return render(request, "context/archives/detail.html", context)


def _find_embedding_state(account_id: UUID, pk: UUID) -> str:
    vectors = Vector.objects.of(account_id).filter(object_id=pk)
    states = set(vectors.order_by().values_list("state", flat=True).distinct())
    if Vector.State.READY in states:
        return "ready"
    return "failed" if states == {Vector.State.FAILED} else "pending"


def _best_passages(row: ToolResultArchive, query: str) -> list[dict[str, Any]]:
    passages = split_passages(row.result_full)
    scores = score_by_words(passages, query)
    best = sorted(scores, key=lambda index: (-scores[index], index))[:5]
    return [{"passage": passages[index], "score": scores[index]} for index in best]


@page_view("GET", "POST", needs=Permission.ERASE)
def erase_archive(request: WebRequest, pk: UUID) -> HttpResponse | AfterCommit:
    """Erase after confirmation, because it cannot be undone."""
    row = get_row_or_404(request, ToolResultArchive, pk)
    if request.method != "POST":
        return render(request, "context/archives/erase.html", {"archive": row})
    return AfterCommit(partial(_erase_prepared, request, pk), outside_transaction=True)


def _erase_prepared(request: WebRequest, pk: UUID) -> AfterCommit:
    prepare_erasure(request.account_id)
    return AfterCommit(partial(_erase, request, pk))


def _erase(request: WebRequest, pk: UUID) -> HttpResponse:
    row, reason = get_row_or_404(request, ToolResultArchive, pk), parse_reason(request)
    erase_archives(request.account_id, request.actor, [row], reason=reason)
    return redirect_with_notice(
        request, _("Erased. The ledger still records that it existed."), "context:archives"
    )


@page_view("GET")
def retention(request: WebRequest) -> HttpResponse:
    """Show the retention settings and the results that expire."""
    return _render_retention(request, ContextSettings.objects.get_or_default(request.account_id))


@page_view("POST", needs=Permission.SETTINGS)
def update_retention(request: WebRequest) -> HttpResponse:
    """Change the settings. A retention period that expires results at once needs confirmation."""
    settings = ContextSettings.objects.get_or_default(request.account_id)
    form = RetentionForm(request.POST)
    if not form.is_valid():
        return _render_retention(request, settings, form)
    days = form.cleaned_data["retention_days"]
    shorter = _is_shorter(settings, days)
    expiring = expired_archives(settings.account_id, days).count() if shorter else 0
    if expiring and not form.is_confirmed:
        context = {"form": form, "expiring": expiring}
        return render(request, "context/archives/confirm.html", context)
    message = save_form_values(request, form.cleaned_data)
    return redirect_with_notice(request, message, "context:keeping")


def _is_shorter(settings: ContextSettings, days: int | None) -> bool:
    return days is not None and days < (settings.retention_days or days + 1)


def _render_retention(
    request: WebRequest, settings: ContextSettings, invalid_form: RetentionForm | None = None
) -> HttpResponse:
    account_id = settings.account_id
    expired = expired_archives(account_id, settings.retention_days)
    rows = ToolResultArchive.objects.of(account_id).briefly()
    context = {
        "settings": settings,
        "form": invalid_form or RetentionForm.of(settings),
        "archive_count": rows.count(),
        "due": expired.count(),
        "expired": expired.briefly()[:MAX_EXPIRED],
        "oldest": rows.order_by("created_at", "pk")[:10],
        "may_change": Permission.SETTINGS in request.permissions,
    }
    return render_form(request, "context/archives/keeping.html", context, invalid=invalid_form)
