"""The review page: the queue, one open proposal with its lease, evidence and sources."""

from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.core.paginator import Page, Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.accounts.permissions import Permission
from kmapp.errors import Conflict
from kmapp.web.actor_names import list_actor_names
from kmapp.web.badge_counts import format_count
from kmapp.web.http import WebRequest, parse_row_number, uuid_or_404
from kmapp.web.page_access import page_view
from kmapp.web.responses import render_part, render_polled
from memory.actions.review_leases import (
    acquire_lease,
    acquire_next_lease,
    find_lease,
    leased_by_other,
    renew_lease,
)
from memory.models import MemoryEntry, MemoryVersion, Need, ReviewLease
from memory.review.entry_sources import load_sources
from memory.review.evidence import load_evidence
from memory.review.queue import (
    annotate_need,
    build_newer_condition,
    count_needs,
    list_proposals,
    with_review_details,
)
from memory.views.review_forms import ProposalForm

PAGE = 20  # a small page, because each decision renders the list again
LISTED_FIELDS = ("content", "kind", "user_id", "flags", "pinned", "version", "created_at")
TEMPLATE = "memory/review/index.html"
# A command for an empty queue.
EXAMPLE_COMMAND = (
    "curl -s %s -H 'Authorization: Bearer YOUR_KEY' -H 'Content-Type: application/json' "
    """-d '{"kind": "preference", "text": "Our reports go out on Friday."}'"""
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherDecision:
    """A decision by someone else, with the text and the reason that the reviewer had typed."""

    entry: MemoryEntry
    latest: MemoryVersion | None
    decided_by: str
    was_decided: bool = True  # False if the reviewer only followed an old link
    reviewed_text: str = ""  # the text that the reviewer decided about
    typed: str = ""
    reason: str = ""
    lease: ReviewLease | None = None  # the lease of someone else


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenProposal:
    """The open proposal; `held` is the lease of someone else."""

    entry: MemoryEntry
    lease: ReviewLease | None
    held: ReviewLease | None = None


def get_entry_or_404(request: WebRequest, pk: UUID) -> MemoryEntry:
    rows = with_review_details(annotate_need(MemoryEntry.objects.of(request.account_id)))
    return get_object_or_404(rows, pk=pk)


def open_next(request: WebRequest, after: MemoryEntry | None = None) -> OpenProposal | None:
    """Lease and open the next proposal after this one."""
    account_id = request.account_id
    waiting = with_review_details(list_proposals(account_id, parse_need(request)))
    if request.method == "HEAD" or Permission.REVIEW not in request.permissions:
        first = waiting.first()
        return OpenProposal(entry=first, lease=None) if first else None
    rounds = [waiting.filter(build_newer_condition(after)), waiting] if after else [waiting]
    for rows in rounds:
        if leased := acquire_next_lease(rows, account_id, str(request.actor)):
            return OpenProposal(entry=leased[0], lease=leased[1])
    return None


def open_proposal(
    request: WebRequest, entry: MemoryEntry, *, by_force: bool = False
) -> OpenProposal:
    """Lease a proposal, unless someone else holds it. HEAD requests and viewers take no lease."""
    if request.method == "HEAD" or Permission.REVIEW not in request.permissions:
        return OpenProposal(entry=entry, lease=None)
    account_id = request.account_id
    lease = acquire_lease(account_id, entry.pk, str(request.actor), by_force=by_force)
    held = None if lease else find_lease(account_id, entry.pk)
    return OpenProposal(entry=entry, lease=lease, held=held)


def find_other_decision(request: WebRequest, pk: UUID, **more: Any) -> OtherDecision:
    entry = get_entry_or_404(request, pk)
    versions = MemoryVersion.objects.of(entry.account_id).filter(entry_id=pk)
    latest = versions.filter(version=entry.version).first()
    lease = more.get("lease")
    actor = lease.holder if lease else latest.actor if latest else ""
    decided_by = list_actor_names([actor])[actor] if actor else ""
    return OtherDecision(entry=entry, latest=latest, decided_by=decided_by, **more)


def render_workbench(
    request: WebRequest,
    at: OpenProposal | None,
    *,
    form: ProposalForm | None = None,
    lost: OtherDecision | None = None,
    elsewhere: bool = False,
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    """Render the page with one proposal open; for htmx only the workbench.

    `elsewhere`: the request targets another element, so the workbench is swapped out of band.
    """
    account_id = request.account_id
    tally = count_needs(account_id)
    request.counted = {"memory:review": sum(tally.values())}
    page = _page(request, tally)
    entry = at.entry if at else None
    actors = [entry.created_by] if entry else []
    actors += [at.held.holder] if at and at.held else []
    context = {
        "page": page,
        "tabs": _tabs(request, tally),
        "need": parse_need(request),
        "entry": entry,
        "lease": at.lease if at else None,
        "held": at.held if at else None,
        "place": next((i for i, row in enumerate(page, page.start_index()) if row == entry), None),
        "evidence": load_evidence(entry) if entry else None,
        "names": list_actor_names(actors),
        "form": form,
        "lost": lost,
        "elsewhere": elsewhere,
        "picked": parse_selected(request),
        "decided": decided_today(account_id),
        "total": sum(tally.values()),
        "waiting": format_count(sum(tally.values())),
        "at_page": queue_query(request),
        "and_page": with_queue_query(request),
        "command": EXAMPLE_COMMAND % request.build_absolute_uri(reverse("memory:api_store")),
        "home": reverse("web:home"),
    }
    answer = render_part(request, TEMPLATE, "workbench", context, status=status)
    if request.htmx:
        answer.headers["HX-Replace-Url"] = review_url(request, entry)
    return answer


def _page(request: WebRequest, tally: Any) -> Page[MemoryEntry]:
    rows = list_proposals(request.account_id, parse_need(request)).only(*LISTED_FIELDS)
    pages = Paginator(rows.annotate(is_leased_by_other=leased_by_other(str(request.actor))), PAGE)
    # Avoid a second query for the same count.
    need = parse_need(request)
    pages.count = tally[need] if need else sum(tally.values())
    return pages.get_page(request.GET.get("page"))


def _tabs(request: WebRequest, tally: Any) -> list[dict[str, Any]]:
    """Return the tabs of the queue with counts; empty tabs only while open."""
    chosen = parse_need(request)
    return [
        {"value": each.value, "label": each.label, "count": tally[each], "is_open": each == chosen}
        for each in reversed(Need)
        if tally[each] or each == chosen
    ]


def parse_need(request: WebRequest) -> str:
    """Return the selected group of the queue, or an empty string for all."""
    need = request.GET.get("need", "")
    return need if need in Need.values else ""


def parse_selected(request: WebRequest) -> set[str]:
    """Return the selected rows of the page, each as id:version."""
    return {*request.GET.getlist("pick"), *request.POST.getlist("pick")}


def queue_query(request: WebRequest) -> str:
    """Return the group and page of the queue as a query string."""
    number = request.GET.get("page", "")
    query = {"need": parse_need(request), "page": number if number.isdecimal() else ""}
    text = urlencode({name: value for name, value in query.items() if value})
    return f"?{text}" if text else ""


def with_queue_query(request: WebRequest) -> str:
    """Return the group and page of the queue as further parameters of a URL."""
    return queue_query(request).replace("?", "&", 1)


def review_url(request: WebRequest, at: MemoryEntry | None) -> str:
    """Return the URL of this proposal, on the same page of the queue."""
    url = reverse("memory:review")
    return f"{url}?at={at.pk}{with_queue_query(request)}" if at else url + queue_query(request)


def go_to_proposal(request: WebRequest, at: OpenProposal | None) -> HttpResponse:
    """Render the workbench for htmx, or redirect to it."""
    if request.htmx:
        return render_workbench(request, at)
    return redirect(review_url(request, at.entry if at else None))


def go_to_next(request: WebRequest, after: MemoryEntry | None = None) -> HttpResponse:
    return go_to_proposal(request, open_next(request, after))


def midnight() -> datetime:
    return timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)


def decided_today(account_id: UUID) -> int:
    """Count the proposals that people decided since midnight and that are still decided."""
    today = MemoryVersion.objects.of(account_id).filter(
        created_at__gte=midnight(), event__in=MemoryVersion.DECISIONS
    )
    decided = today.exclude(entry__status=MemoryEntry.Status.PROPOSED)
    # Exclude topics and the memories that proposals were merged into.
    decided = decided.exclude(entry__kind=MemoryEntry.Kind.TOPIC)
    decided = decided.exclude(
        event=MemoryVersion.Event.MERGE, state__status=MemoryEntry.Status.ACTIVE
    )
    return decided.values("entry_id").distinct().count()


@page_view("GET")
def poll_lease(request: WebRequest, pk: UUID) -> HttpResponse:
    """Renew the lease, for polling; report other holders, decisions and new proposals."""
    account_id, entry = request.account_id, get_entry_or_404(request, pk)
    token = uuid_or_404(request.GET.get("token", ""))
    mine = request.method == "GET" and renew_lease(account_id, pk, token)
    held = None if mine else find_lease(account_id, pk)
    other = held if held and held.holder != str(request.actor) else None
    waiting = MemoryEntry.objects.of(account_id).awaiting_review().count()
    context = {
        "entry": entry,
        "waits": entry.status == MemoryEntry.Status.PROPOSED,
        "other": list_actor_names([other.holder])[other.holder] if other else "",
        "fresh": max(0, waiting - (parse_row_number(request.GET.get("seen", "")) or 0)),
        "and_page": with_queue_query(request),
        "at_page": queue_query(request),
    }
    return render_polled(request, "memory/review/index.html#pulse", context)


@page_view("POST", needs=Permission.REVIEW)
def acquire_by_force(request: WebRequest, pk: UUID) -> HttpResponse:
    """Take over the lease. The previous holder is informed when they decide."""
    entry = get_entry_or_404(request, pk)
    if entry.status != MemoryEntry.Status.PROPOSED:
        raise Conflict(_("This proposal was already decided."))
    return go_to_proposal(request, open_proposal(request, entry, by_force=True))


@page_view("GET")
def sources(request: WebRequest, pk: UUID) -> HttpResponse:
    entry = get_entry_or_404(request, pk)
    context = {"entry": entry, "found": load_sources(entry), "back_url": review_url(request, entry)}
    return render_part(request, "memory/review/sources.html", "sources", context)
