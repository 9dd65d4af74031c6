"""The review page: the queue, one open proposal, and its evidence."""

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

from kmapp.web.actor_names import list_actor_names
from kmapp.web.http import WebRequest
from kmapp.web.navigation import format_count
from kmapp.web.responses import render_part
from memory.actions.leases import acquire_lease, acquire_next_lease, find_lease, leased_by_other
from memory.models import MemoryEntry, MemoryVersion, Need, ReviewLease
from memory.review.evidence import evidence
from memory.review.queue import described, needing, needs, queue, younger_than
from memory.views.review_forms import ProposalForm

PAGE = 20  # a small page, because each decision renders the list again
LISTED_FIELDS = ("content", "kind", "user_id", "flags", "pinned", "version", "created_at")
TEMPLATE = "memory/review/index.html"
# A command for an empty queue.
EXAMPLE_COMMAND = (
    "curl -s %s -H 'Authorization: Bearer KEY' -H 'Content-Type: application/json' "
    """-d '{"nodes": [{"kind": "preference", "text": "Our reports go out on Friday."}]}'"""
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overtaken:
    """A decision by someone else, with the text that the reviewer had typed."""

    entry: MemoryEntry
    latest: MemoryVersion | None
    decided_by: str
    was_decided: bool = True  # False if the reviewer only followed an old link
    saw: str = ""  # the text that the reviewer decided about
    typed: str = ""
    lease: ReviewLease | None = None  # the lease of someone else


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The open proposal; `held` is the lease of someone else."""

    entry: MemoryEntry
    lease: ReviewLease | None
    held: ReviewLease | None = None


def memory_of(request: WebRequest, pk: UUID) -> MemoryEntry:
    rows = described(needing(MemoryEntry.objects.of(request.account_id)))
    return get_object_or_404(rows, pk=pk)


def me(request: WebRequest) -> str:
    return str(request.actor)


def open_next(request: WebRequest, after: MemoryEntry | None = None) -> Opened | None:
    """Lease and open the next proposal after this one."""
    account_id = request.account_id
    waiting = described(queue(account_id, need(request)))
    rounds = [waiting.filter(younger_than(after)), waiting] if after else [waiting]
    for rows in rounds:
        if leased := acquire_next_lease(rows, account_id, me(request)):
            return Opened(entry=leased[0], lease=leased[1])
    return None


def open_this(request: WebRequest, entry: MemoryEntry, *, by_force: bool = False) -> Opened:
    """Lease a proposal, unless someone else holds it. HEAD requests take no lease."""
    if request.method == "HEAD":
        return Opened(entry=entry, lease=None)
    account_id = request.account_id
    lease = acquire_lease(account_id, entry.pk, me(request), by_force=by_force)
    held = None if lease else find_lease(account_id, entry.pk)
    return Opened(entry=entry, lease=lease, held=held)


def overtaken(request: WebRequest, pk: UUID, *, was_decided: bool = True, **more: Any) -> Overtaken:
    entry = memory_of(request, pk)
    versions = MemoryVersion.objects.of(entry.account_id).filter(entry_id=pk)
    latest = versions.filter(version=entry.version).first()
    lease = more.get("lease")
    actor = lease.holder if lease else latest.actor if latest else ""
    decided_by = list_actor_names([actor])[actor] if actor else ""
    return Overtaken(
        entry=entry, latest=latest, decided_by=decided_by, was_decided=was_decided, **more
    )


def workbench(
    request: WebRequest,
    at: Opened | None,
    *,
    form: ProposalForm | None = None,
    lost: Overtaken | None = None,
    elsewhere: bool = False,
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    """Render the page with one proposal open; for htmx only the workbench.

    `elsewhere`: the request targets another element, so the workbench is swapped out of band.
    """
    account_id = request.account_id
    tally = needs(account_id)
    request.counted = {"memory:review": sum(tally.values())}
    page = _page(request, tally)
    entry = at.entry if at else None
    actors = [entry.created_by] if entry else []
    actors += [at.held.holder] if at and at.held else []
    context = {
        "page": page,
        "tabs": _tabs(request, tally),
        "need": need(request),
        "entry": entry,
        "lease": at.lease if at else None,
        "held": at.held if at else None,
        "place": next((i for i, row in enumerate(page, page.start_index()) if row == entry), None),
        "evidence": evidence(entry) if entry else None,
        "names": list_actor_names(actors),
        "form": form,
        "lost": lost,
        "elsewhere": elsewhere,
        "picked": picked(request),
        "decided": decided_today(account_id),
        "total": sum(tally.values()),
        "waiting": format_count(sum(tally.values())),
        "at_page": at_page(request),
        "and_page": at_page(request).replace("?", "&", 1),
        "command": EXAMPLE_COMMAND % request.build_absolute_uri(reverse("memory:api_write")),
        "home": reverse("web:home"),
    }
    answer = render_part(request, TEMPLATE, "workbench", context, status=status)
    if request.htmx:
        answer.headers["HX-Replace-Url"] = address(request, entry)
    return answer


def _page(request: WebRequest, tally: Any) -> Page[MemoryEntry]:
    rows = queue(request.account_id, need(request)).only(*LISTED_FIELDS)
    pages = Paginator(rows.annotate(in_others_hands=leased_by_other(me(request))), PAGE)
    # Avoid a second query for the same count.
    pages.count = tally[need(request)] if need(request) else sum(tally.values())
    return pages.get_page(request.GET.get("page"))


def _tabs(request: WebRequest, tally: Any) -> list[dict[str, Any]]:
    """Return the tabs of the queue with counts; empty tabs only while open."""
    chosen = need(request)
    return [
        {"value": each.value, "label": each.label, "count": tally[each], "is_open": each == chosen}
        for each in reversed(Need)
        if tally[each] or each == chosen
    ]


def need(request: WebRequest) -> str:
    """Return the selected group of the queue, or an empty string for all."""
    need_filter = request.GET.get("need", "")
    return need_filter if need_filter in Need.values else ""


def picked(request: WebRequest) -> set[str]:
    """Return the selected rows of the page, each as id:version."""
    return {*request.GET.getlist("pick"), *request.POST.getlist("pick")}


def at_page(request: WebRequest) -> str:
    """Return the group and page of the queue as a query string."""
    number = request.GET.get("page", "")
    query = {"need": need(request), "page": number if number.isdecimal() else ""}
    here = urlencode({name: value for name, value in query.items() if value})
    return f"?{here}" if here else ""


def address(request: WebRequest, at: MemoryEntry | None) -> str:
    """Return the URL of this proposal, on the same page of the queue."""
    here = reverse("memory:review")
    page = at_page(request)
    return f"{here}?at={at.pk}{page.replace('?', '&', 1)}" if at else here + page


def moved_on(request: WebRequest, at: Opened | None) -> HttpResponse:
    """Render the workbench after a decision, or redirect to it without htmx."""
    if request.htmx:
        return workbench(request, at)
    return redirect(address(request, at.entry if at else None))


def midnight() -> datetime:
    return timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)


def decided_today(account_id: UUID) -> int:
    """Count the proposals that people decided since midnight and that are still decided."""
    today = MemoryVersion.objects.of(account_id).filter(
        created_at__gte=midnight(), event__in=MemoryVersion.DECISIONS
    )
    decided = today.exclude(entry__status=MemoryEntry.Status.PROPOSED)
    return decided.values("entry_id").distinct().count()
