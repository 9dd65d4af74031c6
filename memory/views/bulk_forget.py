"""The page to forget the filtered list after a confirmation."""

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from kmapp.web.http import MAX_REASON_LENGTH, WebRequest, parse_reason
from kmapp.web.page_access import page_view
from memory.actions import bulk_review
from memory.actions.review import FORGETTABLE
from memory.retrieval.entry_list import Listing
from memory.views.bulk_review import notify_result

EXAMPLES = 20  # memories on the page


@page_view("GET", "POST")
def forget_these(request: WebRequest) -> HttpResponse:
    """Forget the listed memories after confirmation of their number."""
    account_id, actor = request.account_id, request.actor
    listing = Listing.of(account_id, request.GET)
    rows = listing.chosen
    if request.method == "POST":
        started = bulk_review.forget_entries(
            account_id,
            rows,
            actor,
            ticket=request.POST.get("ticket", ""),
            reason=parse_reason(request),
        )
        if started.events:
            return redirect("memory:bulk_run", pk=started.run.pk)
        notify_result(request, started.run)
        return redirect(f"{reverse('memory:entries')}?{listing.query}")
    extent = bulk_review.preview_forget(account_id, rows, actor)
    examples = rows.filter(status__in=FORGETTABLE).order_by("-created_at", "-pk")[:EXAMPLES]
    context = {
        "extent": extent,
        "entries": examples,
        "more": max(0, extent.memories - EXAMPLES),
        "listing": listing,
        "longest": MAX_REASON_LENGTH,
    }
    return render(request, "memory/forgetting/index.html", context)
