"""What memory has to say on the home page."""

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from kmapp.providers.active import active_model
from kmapp.search.models import Vector
from kmapp.web.http import WebRequest, account_id_for, fragment
from kmapp.web.seats import reviewer_required
from memory.models import MemoryEntry
from memory.views.workbench import decided_today


@require_safe
@reviewer_required
def summary(request: WebRequest) -> HttpResponse:
    account_id = account_id_for(request)
    rows = MemoryEntry.objects.of(account_id)
    unembedded = Vector.objects.of(account_id).filter(state=Vector.State.PENDING)
    context = {
        "waiting": rows.awaiting_review().count(),
        "oldest": rows.awaiting_review().first(),
        "decided": decided_today(account_id),
        "active": rows.filter(status=MemoryEntry.Status.ACTIVE).count(),
        "unembedded": unembedded.filter(model=active_model()).count(),
    }
    return render(request, fragment(request, "memory/summary/index.html", "panel"), context)
