"""Tool results that were kept: the list, one of them, and how long they stay."""

from http import HTTPStatus
from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from context.actions.archives import erase, outlived
from context.actions.settings import change_settings
from context.archives.passages import by_words, passages
from context.archives.placeholders import placeholder
from context.models import ContextSettings, ToolResultArchive
from context.views.filters import ArchiveFilter
from context.views.forms import KeepingForm
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
SHOWN = 20_000  # characters of one result on its page
DOOMED = 50  # of those that will go, shown
REASON = 500


@require_safe
@reviewer_required
def archives(request: WebRequest) -> HttpResponse:
    """Newest first."""
    account_id = account_id_for(request)
    rows = ToolResultArchive.objects.of(account_id).briefly().order_by("-created_at", "-pk")
    narrowed = ArchiveFilter(request.GET, queryset=rows)
    settings = ContextSettings.objects.here(account_id)
    context = {
        "filter": narrowed,
        "page": Paginator(narrowed.qs, PAGE).get_page(request.GET.get("page")),
        "narrowed": any(request.GET.get(name) for name in narrowed.filters),
        "settings": settings,
        "due": outlived(account_id, settings.retention_days).count(),
        "first_command": _first_command(request),
    }
    return render(request, fragment(request, "context/archives/index.html", "list"), context)


def _first_command(request: WebRequest) -> str:
    """What an empty list teaches: how a first result is kept."""
    address = request.build_absolute_uri(reverse("context:api_results"))
    body = '{"tool_name": "search", "threshold": 20, "result": "The tea room opens at nine."}'
    return (
        f"curl -s {address} -H 'Authorization: Bearer YOUR_KEY' "
        f"-H 'Content-Type: application/json' -d '{body}'"
    )


@require_safe
@reviewer_required
def archive(request: WebRequest, pk: UUID) -> HttpResponse:
    """The whole result, or with a question the passages that answer it."""
    account_id = account_id_for(request)
    row = get_object_or_404(
        ToolResultArchive.objects.of(account_id).select_related("commit"), pk=pk
    )
    query = request.GET.get("about", "").strip()[:500]
    vectors = Vector.objects.of(account_id).filter(object_id=pk)
    context = {
        "archive": row,
        "query": query,
        "passages": _passages(row, query) if query else [],
        "text": row.result_full[:SHOWN],
        "left_out": max(0, row.result_length - SHOWN),
        "whole_tokens": tokens.count(row.result_full),
        "placeholder": placeholder(row.told(), row.language),
        "ready": vectors.filter(state=Vector.State.READY).exists(),
        "names": list_actor_names([row.created_by]),
        "may_erase": request.access.role == Membership.Role.ADMIN,
    }
    return render(request, "context/archives/detail.html", context)


def _passages(row: ToolResultArchive, query: str) -> list[dict[str, Any]]:
    found = passages(row.result_full)
    scores = by_words(found, query)
    best = sorted(scores, key=lambda at: (-scores[at], at))[:5]
    return [{"passage": found[at], "score": scores[at]} for at in best]


@require_http_methods(["GET", "HEAD", "POST"])
@admin_required
def erase_archive(request: WebRequest, pk: UUID) -> HttpResponse:
    """Asks once: nobody can take it back."""
    account_id = account_id_for(request)
    row = get_object_or_404(ToolResultArchive.objects.of(account_id), pk=pk)
    if request.method != "POST":
        return render(request, "context/archives/erase.html", {"archive": row})
    reason = post_text(request, "reason", REASON)
    erase(account_id, actor_for(request), [row], reason=reason)
    notify_success(request, _("Erased. The ledger keeps that it was there."))
    return redirect("context:archives")


@require_safe
@reviewer_required
def keeping(request: WebRequest) -> HttpResponse:
    """What is kept, for how long, and what will go."""
    return _keeping(request, ContextSettings.objects.here(account_id_for(request)))


@require_POST
@admin_required
def set_keeping(request: WebRequest) -> HttpResponse:
    """Days that would erase something now are counted first, and confirmed."""
    settings = ContextSettings.objects.here(account_id_for(request))
    form = KeepingForm(request.POST)
    if not form.is_valid():
        return _keeping(request, settings, form)
    days = form.cleaned_data["retention_days"]
    doomed = outlived(settings.account_id, days).count() if _shorter(settings, days) else 0
    if doomed and parse_row_number(request.POST.get("count", "")) != doomed:
        context = {"form": form, "doomed": doomed}
        return render(request, "context/archives/confirm.html", context)
    changed = change_settings(
        settings.account_id,
        form.cleaned_data,
        actor=actor_for(request),
        version=parse_row_number(request.POST.get("version", "")) or 0,
        reason=post_text(request, "reason", REASON),
    )
    said = _("The settings hold from now on.") if changed else _("Nothing was different: it stays.")
    notify_success(request, said)
    return redirect("context:keeping")


def _shorter(settings: ContextSettings, days: int | None) -> bool:
    return days is not None and days < (settings.retention_days or days + 1)


def _keeping(
    request: WebRequest, settings: ContextSettings, wrong: KeepingForm | None = None
) -> HttpResponse:
    account_id = settings.account_id
    going = outlived(account_id, settings.retention_days)
    rows = ToolResultArchive.objects.of(account_id).briefly()
    context = {
        "settings": settings,
        "form": wrong or KeepingForm.of(settings),
        "kept": rows.count(),
        "due": going.count(),
        "going": going.briefly()[:DOOMED],
        "soon": rows.order_by("created_at", "pk")[:10],
        "may_change": request.access.role == Membership.Role.ADMIN,
    }
    status = HTTPStatus.UNPROCESSABLE_ENTITY if wrong else HTTPStatus.OK
    return render(request, "context/archives/keeping.html", context, status=status)
