"""Bulk forget of the filtered list: count, confirm, undo."""

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from kmapp.web.http import WebRequest, account_id_for, actor_for, post_text
from kmapp.web.page_access import reviewer_required
from memory.actions import bulk_review
from memory.actions.review import FORGETTABLE
from memory.retrieval.entry_list import Listing
from memory.views.bulk_review import notify_result
from memory.views.review_forms import REASON

EXAMPLES = 20  # of what would be forgotten


@require_http_methods(["GET", "HEAD", "POST"])
@reviewer_required
def forget_these(request: WebRequest) -> HttpResponse:
    """Asks with the exact number; then does it, at once or by workers."""
    account_id, actor = account_id_for(request), actor_for(request)
    listing = Listing.of(account_id, request.GET)
    rows = listing.chosen
    if request.method == "POST":
        started = bulk_review.forget_entries(
            account_id,
            rows,
            actor,
            ticket=request.POST.get("ticket", ""),
            reason=post_text(request, "reason", REASON),
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
        "longest": REASON,
    }
    return render(request, "memory/forgetting/index.html", context)
