"""Ratings of memories by people."""

from collections.abc import Iterable
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from kmapp.errors import Invalid
from kmapp.web.http import WebRequest, get_row_or_404, safe_next_url
from kmapp.web.notices import notify_success
from kmapp.web.page_access import page_view
from memory.actions.feedback import rate_entry
from memory.actions.review import Decision
from memory.models import MemoryEntry, MemoryRating

Outcome = MemoryRating.Outcome
OFFERED = (Outcome.POSITIVE, Outcome.NEGATIVE, Outcome.VERY_NEGATIVE)


def ratings_of(request: WebRequest, entries: Iterable[UUID]) -> dict[UUID, str]:
    """Return this person's rating of each memory."""
    mine = MemoryRating.objects.of(request.account_id).filter(
        rater=str(request.actor), used_in="", entry__in=list(entries)
    )
    return dict(mine.values_list("entry_id", "outcome"))


@page_view("POST")
def rate_memory(request: WebRequest, pk: UUID) -> HttpResponse:
    """Rate a memory as useful, outdated or wrong."""
    outcome = request.POST.get("outcome", "")
    if outcome not in Outcome.values:
        raise Invalid(_("Choose useful, outdated or wrong."))
    entry = get_row_or_404(request, MemoryEntry, pk)
    decision = Decision(account_id=entry.account_id, entry_id=entry.pk, actor=request.actor)
    rated = rate_entry(decision, outcome)
    if request.htmx:
        context = {"entry": entry, "said": outcome, "outcomes": OFFERED}
        return render(request, "memory/lab/index.html#rating", context)
    if rated.changed:
        notify_success(request, _("Rating saved. It affects how this memory ranks in search."))
    return redirect(safe_next_url(request, "memory:lab"))
