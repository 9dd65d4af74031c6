"""Pages of an open proposal: renewing or taking over its lease, and its sources."""

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from kmapp.errors import Conflict
from kmapp.web.actor_names import list_actor_names
from kmapp.web.http import WebRequest, parse_row_number, uuid_or_404
from kmapp.web.page_access import page_view
from kmapp.web.responses import render_part, render_polled
from memory.actions.leases import find_lease, renew_lease
from memory.models import MemoryEntry
from memory.review.sources import sources_of
from memory.views.review_queue import address, at_page, me, memory_of, open_this, workbench


@page_view("GET")
def pulse(request: WebRequest, pk: UUID) -> HttpResponse:
    """Renew the lease, for polling; report other holders, decisions and new proposals."""
    account_id, entry = request.account_id, memory_of(request, pk)
    token = uuid_or_404(request.GET.get("token", ""))
    mine = request.method == "GET" and renew_lease(account_id, pk, token)
    held = None if mine else find_lease(account_id, pk)
    other = held if held and held.holder != me(request) else None
    waiting = MemoryEntry.objects.of(account_id).awaiting_review().count()
    context = {
        "entry": entry,
        "waits": entry.status == MemoryEntry.Status.PROPOSED,
        "other": list_actor_names([other.holder])[other.holder] if other else "",
        "fresh": max(0, waiting - (parse_row_number(request.GET.get("seen", "")) or 0)),
        "at_page": at_page(request),
    }
    return render_polled(request, "memory/review/index.html#pulse", context)


@page_view("POST")
def acquire_by_force(request: WebRequest, pk: UUID) -> HttpResponse:
    """Take over the lease. The previous holder learns of it when they decide."""
    entry = memory_of(request, pk)
    if entry.status != MemoryEntry.Status.PROPOSED:
        raise Conflict(_("This proposal was already decided."))
    opened = open_this(request, entry, by_force=True)
    return workbench(request, opened) if request.htmx else redirect(address(request, entry))


@page_view("GET")
def sources(request: WebRequest, pk: UUID) -> HttpResponse:
    entry = memory_of(request, pk)
    context = {"entry": entry, "found": sources_of(entry), "at_page": at_page(request)}
    return render_part(request, "memory/review/sources.html", "sources", context)
