"""The page of a memory with its history and proof."""

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from kmapp.errors import Invalid
from kmapp.providers.active import active_model
from kmapp.web.actor_names import list_actor_names
from kmapp.web.http import WebRequest, account_id_for, actor_for, parse_row_number, post_text
from kmapp.web.notices import notify_success
from kmapp.web.page_access import reviewer_required
from memory.actions import erasure, review
from memory.actions.review import Decision
from memory.models import EntryQuerySet, MemoryEntry
from memory.review.evidence import warnings
from memory.views import history
from memory.views.erasure import erased
from memory.views.review_forms import REASON
from memory.views.version_comparison import comparison

TEMPLATE = "memory/entries/detail.html"


@require_safe
@reviewer_required
def entry(request: WebRequest, pk: UUID) -> HttpResponse:
    row = _rows(request).filter(pk=pk).first()
    return _render_entry(request, row) if row else erased(request, pk)


@require_POST
@reviewer_required
def pin(request: WebRequest, pk: UUID) -> HttpResponse:
    return _decide(request, pk, review.pin, _("Pinned."))


@require_POST
@reviewer_required
def unpin(request: WebRequest, pk: UUID) -> HttpResponse:
    return _decide(request, pk, review.unpin, _("Unpinned."))


@require_http_methods(["GET", "HEAD", "POST"])
@reviewer_required
def forget(request: WebRequest, pk: UUID) -> HttpResponse:
    """Asks once, and says what goes and what stays."""
    if request.method != "POST":
        row = _get_entry(request, pk)
        rows = MemoryEntry.objects.of(row.account_id).filter(pk=pk)
        extent = erasure.preview_erasure(row.account_id, rows, actor_for(request))
        return render(request, "memory/entries/forget.html", {"entry": row, "extent": extent})
    return _decide(request, pk, review.forget, _("Forgotten. Agents can no longer recall it."))


@require_POST
@reviewer_required
def revert(request: WebRequest, pk: UUID) -> HttpResponse:
    version_number = parse_row_number(request.POST.get("to", "")) or 0
    message = _("Version %(n)d is restored.") % {"n": version_number}
    return _decide(
        request, pk, lambda decision: review.revert(decision, to=version_number), message
    )


def _decide(
    request: WebRequest, pk: UUID, operation: Callable[[Decision], MemoryEntry], message: str
) -> HttpResponse:
    version = parse_row_number(request.POST.get("version", ""))
    if version is None:
        raise Invalid(_("The version number is missing. Reload the page and decide again."))
    decision = _decision(
        request,
        pk,
        version=version,
        reason=post_text(request, "reason", REASON),
    )
    changed = operation(decision)
    notify_success(request, message, undo=_undo(changed))
    return redirect("memory:entry", pk=pk)


def _decision(request: WebRequest, pk: UUID, *, version: int | None, reason: str) -> Decision:
    return Decision(
        account_id=account_id_for(request),
        entry_id=pk,
        actor=actor_for(request),
        version=version,
        reason=reason,
    )


def _undo(changed: MemoryEntry) -> str:
    return f"{reverse('memory:undo', args=[changed.pk])}?version={changed.version}"


def _rows(request: WebRequest) -> EntryQuerySet:
    rows = MemoryEntry.objects.of(account_id_for(request)).select_related("commit")
    return rows.with_embedding_state(active_model().pk)


def _get_entry(request: WebRequest, pk: UUID) -> MemoryEntry:
    return get_object_or_404(_rows(request), pk=pk)


def _render_entry(request: WebRequest, row: MemoryEntry) -> HttpResponse:
    account_id, pk = row.account_id, row.pk
    compared = comparison(account_id, pk, request.GET)
    if request.htmx and compared:
        return render(request, f"{TEMPLATE}#compared", {"entry": row, "compared": compared})
    steps, older = history.steps(account_id, pk)
    ratings = history.ratings(account_id, pk)
    edges = history.edges(account_id, pk)
    then = _instant(request.GET.get("at", ""))
    actors = [row.created_by, *(step["state"].actor for step in steps)]
    context = {
        "entry": row,
        "warnings": warnings(row),
        "steps": steps,
        "older": older,
        "ratings": ratings,
        "edges": edges,
        "drawing": history.drawing(edges),
        "compared": compared,
        "versions": [step["state"].version for step in steps],
        "at": then,
        "then": history.as_it_was(row, then) if then else None,
        "names": list_actor_names([*actors, *(rating.rater for rating in ratings)]),
    }
    return render(request, TEMPLATE, context)


def _instant(message: str) -> datetime | None:
    """Parse a time in the user's time zone, or return None."""
    try:
        moment = parse_datetime(message)
        return timezone.make_aware(moment) if moment and timezone.is_naive(moment) else moment
    except (ValueError, OverflowError):
        return None
