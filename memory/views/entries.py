"""The page of a memory with its history and proofs."""

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from django.utils.translation import gettext as _

from kmapp.providers.active_models import active_model
from kmapp.web.actor_names import list_actor_names
from kmapp.web.http import WebRequest, parse_row_number, parse_version
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_with_notice
from kmapp.web.time_zones import exists_in_every_zone
from kmapp.web.version_history import list_versions
from memory.actions import erasure, review
from memory.actions.review import Decision
from memory.models import EntryQuerySet, MemoryEntry, MemoryVersion
from memory.review.evidence import list_warnings
from memory.views import entry_sections
from memory.views.erasure import render_erased
from memory.views.review_forms import build_decision, undo_url

TEMPLATE = "memory/entries/detail.html"


@page_view("GET")
def entry(request: WebRequest, pk: UUID) -> HttpResponse:
    row = _rows(request).filter(pk=pk).first()
    return _render_entry(request, row) if row else render_erased(request, pk)


@page_view("POST")
def pin(request: WebRequest, pk: UUID) -> HttpResponse:
    return _decide(request, pk, review.pin, _("Pinned."))


@page_view("POST")
def unpin(request: WebRequest, pk: UUID) -> HttpResponse:
    return _decide(request, pk, review.unpin, _("Unpinned."))


@page_view("GET", "POST")
def forget(request: WebRequest, pk: UUID) -> HttpResponse:
    """Forget a memory after confirmation, which shows the extent."""
    if request.method != "POST":
        row = get_object_or_404(_rows(request), pk=pk)
        rows = MemoryEntry.objects.of(row.account_id).filter(pk=pk)
        preview = erasure.preview_erasure(row.account_id, rows, request.actor)
        return render(request, "memory/entries/forget.html", {"entry": row, "extent": preview})
    return _decide(request, pk, review.forget, _("Forgotten. Agents can no longer recall it."))


@page_view("POST")
def revert(request: WebRequest, pk: UUID) -> HttpResponse:
    version_number = parse_row_number(request.POST.get("to", "")) or 0
    message = _("Version %(n)d is restored.") % {"n": version_number}
    return _decide(
        request, pk, lambda decision: review.revert(decision, to=version_number), message
    )


def _decide(
    request: WebRequest, pk: UUID, operation: Callable[[Decision], MemoryEntry], message: str
) -> HttpResponse:
    version = parse_version(request.POST.get("version", ""))
    undo = undo_url(operation(build_decision(request, pk, version)))
    return redirect_with_notice(request, message, "memory:entry", undo=undo, pk=pk)


def _rows(request: WebRequest) -> EntryQuerySet:
    rows = MemoryEntry.objects.of(request.account_id).select_related("commit")
    return rows.with_embedding_state(active_model().pk)


def _render_entry(request: WebRequest, row: MemoryEntry) -> HttpResponse:
    account_id, pk = row.account_id, row.pk
    compared = entry_sections.compare_versions(account_id, pk, request.GET)
    if request.htmx and "from" in request.GET:
        return render(request, f"{TEMPLATE}#compared", {"entry": row, "compared": compared})
    versions = MemoryVersion.objects.of(account_id).filter(entry_id=pk)
    steps, older = list_versions(versions, row)
    ratings = entry_sections.list_ratings(account_id, pk)
    edges = entry_sections.list_edges(account_id, pk)
    at = _parse_time(request.GET.get("at", ""))
    actors = [row.created_by, *(step["state"].actor for step in steps)]
    context = {
        "entry": row,
        "warnings": list_warnings(row),
        "steps": steps,
        "older": older,
        "ratings": ratings,
        "edges": edges,
        "drawing": entry_sections.build_drawing(edges),
        "compared": compared,
        "versions": [step["state"].version for step in steps],
        "at": at,
        "then": entry_sections.find_state_at(row, at) if at else None,
        "names": list_actor_names([*actors, *(rating.rater for rating in ratings)]),
    }
    return render(request, TEMPLATE, context)


def _parse_time(text: str) -> datetime | None:
    """Parse a time in the user's time zone, or return None."""
    try:
        moment = parse_datetime(text)
    except ValueError:
        return None
    if moment is None or not exists_in_every_zone(moment):
        return None
    return timezone.make_aware(moment) if timezone.is_naive(moment) else moment
