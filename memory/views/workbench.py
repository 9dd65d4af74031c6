"""The review page: the queue, one proposal of it, and what speaks for and against."""

from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from uuid import UUID

from django.core.paginator import Page, Paginator
from django.db.models import Exists, OuterRef, Q
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone

from kmapp.web.http import WebRequest, account_id_for, fragment
from kmapp.web.navigation import waiting
from kmapp.web.who import names_of
from memory.evidence import evidence
from memory.models import EntryQuerySet, MemoryEdge, MemoryEntry, MemoryVersion
from memory.views.forms import ProposalForm

PAGE = 50
TEMPLATE = "memory/review/index.html"
# What a person can paste to see the queue fill.
TRY_IT = (
    "curl -s %s -H 'Authorization: Bearer KEY' -H 'Content-Type: application/json' "
    """-d '{"nodes": [{"kind": "preference", "text": "Our reports go out on Friday."}]}'"""
)
DECISIONS = (MemoryVersion.Event.APPROVE, MemoryVersion.Event.REJECT)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overtaken:
    """Somebody was first: what became of the memory, by whom, and what the reviewer had written."""

    entry: MemoryEntry
    latest: MemoryVersion | None
    who: str
    asked: bool = True  # False: nothing was decided in vain, an old link was followed
    typed: str = ""


def queue(account_id: UUID) -> EntryQuerySet:
    """What waits, the oldest first; `is_update` says that it would replace another memory."""
    replaces = MemoryEdge.objects.filter(
        account_id=OuterRef("account_id"),
        src_id=OuterRef("pk"),
        type=MemoryEdge.Type.SUPERSEDES,
    )
    rows = MemoryEntry.objects.of(account_id).awaiting_review()
    return rows.annotate(is_update=Exists(replaces))


def memory_of(request: WebRequest, pk: UUID) -> MemoryEntry:
    return get_object_or_404(MemoryEntry.objects.of(account_id_for(request)), pk=pk)


def after(entry: MemoryEntry) -> MemoryEntry | None:
    """What to look at once this one is decided: the next younger, else whatever is left."""
    rows = queue(entry.account_id)
    younger = Q(created_at__gt=entry.created_at) | Q(created_at=entry.created_at, pk__gt=entry.pk)
    return rows.filter(younger).first() or rows.first()


def overtaken(request: WebRequest, pk: UUID, *, asked: bool = True, typed: str = "") -> Overtaken:
    entry = memory_of(request, pk)
    versions = MemoryVersion.objects.of(entry.account_id).filter(entry_id=pk)
    latest = versions.filter(version=entry.version).first()
    who = names_of([latest.actor])[latest.actor] if latest else ""
    return Overtaken(entry=entry, latest=latest, who=who, asked=asked, typed=typed)


def workbench(
    request: WebRequest,
    at: MemoryEntry | None,
    *,
    form: ProposalForm | None = None,
    lost: Overtaken | None = None,
    elsewhere: bool = False,
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    """The page with one proposal open, or for htmx the workbench alone.

    `elsewhere`: what was pressed lies outside of it, so it finds its own place.
    """
    page = _page(request)
    context = {
        "page": page,
        "entry": at,
        "place": next((i for i, row in enumerate(page, page.start_index()) if row == at), None),
        "evidence": evidence(at) if at else None,
        "proposed_by": names_of([at.created_by])[at.created_by] if at else "",
        "form": form,
        "lost": lost,
        "elsewhere": elsewhere,
        "decided": decided_today(account_id_for(request)),
        "waiting": partial(waiting, "memory:review"),  # asked for by parts only
        "at_page": at_page(request),
        "and_page": at_page(request).replace("?", "&"),
        "command": TRY_IT % request.build_absolute_uri(reverse("memory:api_write")),
        "home": reverse("web:home"),
    }
    answer = render(request, fragment(request, TEMPLATE, "workbench"), context, status=status)
    if request.htmx:
        answer.headers["HX-Replace-Url"] = address(request, at)
    return answer


def _page(request: WebRequest) -> Page[MemoryEntry]:
    return Paginator(queue(account_id_for(request)), PAGE).get_page(request.GET.get("page"))


def at_page(request: WebRequest) -> str:
    """The page of the queue that the person is on, as a query."""
    number = request.GET.get("page", "")
    return f"?page={number}" if number.isdecimal() else ""


def address(request: WebRequest, at: MemoryEntry | None) -> str:
    """Where this proposal is looked at, on the same page of the queue."""
    here = reverse("memory:review")
    page = at_page(request)
    return f"{here}?at={at.pk}{page.replace('?', '&')}" if at else here + page


def moved_on(request: WebRequest, at: MemoryEntry | None) -> HttpResponse:
    """After a deed: the workbench as it is now. Without htmx, its own page, by a fresh request."""
    return workbench(request, at) if request.htmx else redirect(address(request, at))


def decided_today(account_id: UUID) -> int:
    """Proposals that people approved or rejected since midnight, where it was not taken back."""
    midnight = timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)
    today = MemoryVersion.objects.of(account_id).filter(
        created_at__gte=midnight, event__in=DECISIONS
    )
    settled = today.exclude(entry__status=MemoryEntry.Status.PROPOSED)
    return settled.values("entry_id").distinct().count()
