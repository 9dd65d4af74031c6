"""Pages of tool results: list, detail, and retention."""

from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from context.actions.archives import erase_archives, expired_archives
from context.actions.settings import change_settings
from context.archives.passages import score_by_words, split_passages
from context.archives.placeholders import render_placeholder
from context.models import ContextSettings, ToolResultArchive
from context.views.filters import ArchiveFilter
from context.views.forms import RetentionForm
from kmapp.accounts.models import Membership
from kmapp.search.models import Vector
from kmapp.text import tokens
from kmapp.web.actor_names import list_actor_names
from kmapp.web.http import (
    WebRequest,
    account_id_for,
    actor_for,
    fragment,
    parse_row_number,
    post_text,
)
from kmapp.web.notices import notify_success
from kmapp.web.page_access import admin_required, reviewer_required

PAGE = 50
MAX_CHARACTERS = 20_000  # characters of a result on its page
MAX_EXPIRED = 50  # expired results on the page
REASON = 500


@require_safe
@reviewer_required
def archives(request: WebRequest) -> HttpResponse:
    account_id = account_id_for(request)
    rows = ToolResultArchive.objects.of(account_id).briefly().order_by("-created_at", "-pk")
    filtered = ArchiveFilter(request.GET, queryset=rows)
    settings = ContextSettings.objects.get_or_default(account_id)
    context = {
        "filter": filtered,
        "page": Paginator(filtered.qs, PAGE).get_page(request.GET.get("page")),
        "narrowed": any(request.GET.get(name) for name in filtered.filters),
        "settings": settings,
        "due": expired_archives(account_id, settings.retention_days).count(),
        "first_command": _first_command(request),
    }
    return render(request, fragment(request, "context/archives/index.html", "list"), context)


def _first_command(request: WebRequest) -> str:
    address = request.build_absolute_uri(reverse("context:api_results"))
    body = '{"tool_name": "search", "threshold": 20, "result": "The tea room opens at nine."}'
    return (
        f"curl -s {address} -H 'Authorization: Bearer YOUR_KEY' "
        f"-H 'Content-Type: application/json' -d '{body}'"
    )


@require_safe
@reviewer_required
def archive(request: WebRequest, pk: UUID) -> HttpResponse:
    """Show a result, with the best passages for a query."""
    account_id = account_id_for(request)
    row = get_object_or_404(
        ToolResultArchive.objects.of(account_id).select_related("commit"), pk=pk
    )
    query = request.GET.get("about", "").strip()[:500]
    vectors = Vector.objects.of(account_id).filter(object_id=pk)
    context = {
        "archive": row,
        "query": query,
        "passages": _best_passages(row, query) if query else [],
        "text": row.result_full[:MAX_CHARACTERS],
        "left_out": max(0, row.result_length - MAX_CHARACTERS),
        "whole_tokens": tokens.count(row.result_full),
        "placeholder": render_placeholder(row.to_placeholder(), row.language),
        "ready": vectors.filter(state=Vector.State.READY).exists(),
        "names": list_actor_names([row.created_by]),
        "may_erase": request.access.role == Membership.Role.ADMIN,
    }
    return render(request, "context/archives/detail.html", context)


def _best_passages(row: ToolResultArchive, query: str) -> list[dict[str, Any]]:
    passages_ = split_passages(row.result_full)
    scores = score_by_words(passages_, query)
    best = sorted(scores, key=lambda index: (-scores[index], index))[:5]
    return [{"passage": passages_[index], "score": scores[index]} for index in best]


@require_http_methods(["GET", "HEAD", "POST"])
@admin_required
def erase_archive(request: WebRequest, pk: UUID) -> HttpResponse:
    """Erase after confirmation, because it cannot be undone."""
    account_id = account_id_for(request)
    row = get_object_or_404(ToolResultArchive.objects.of(account_id), pk=pk)
    if request.method != "POST":
        return render(request, "context/archives/erase.html", {"archive": row})
    reason = post_text(request, "reason", REASON)
    erase_archives(account_id, actor_for(request), [row], reason=reason)
    notify_success(request, _("Erased. The ledger still records that it existed."))
    return redirect("context:archives")


@require_safe
@reviewer_required
def retention(request: WebRequest) -> HttpResponse:
    """Show the retention settings and the results that expire."""
    return _render_retention(
        request, ContextSettings.objects.get_or_default(account_id_for(request))
    )


@require_POST
@admin_required
def update_retention(request: WebRequest) -> HttpResponse:
    """Change the settings. A period that expires results now needs confirmation of their number."""
    settings = ContextSettings.objects.get_or_default(account_id_for(request))
    form = RetentionForm(request.POST)
    if not form.is_valid():
        return _render_retention(request, settings, form)
    days = form.cleaned_data["retention_days"]
    expired_count = (
        expired_archives(settings.account_id, days).count() if _is_shorter(settings, days) else 0
    )
    if expired_count and parse_row_number(request.POST.get("count", "")) != expired_count:
        context = {"form": form, "expired_count": expired_count}
        return render(request, "context/archives/confirm.html", context)
    changed = change_settings(
        settings.account_id,
        form.cleaned_data,
        actor=actor_for(request),
        version=parse_row_number(request.POST.get("version", "")) or 0,
        reason=post_text(request, "reason", REASON),
    )
    message = _("Settings saved.") if changed else _("Nothing changed.")
    notify_success(request, message)
    return redirect("context:keeping")


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
        "may_change": request.access.role == Membership.Role.ADMIN,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if invalid_form else HTTPStatus.OK
    return render(request, "context/archives/keeping.html", context, status=status)
