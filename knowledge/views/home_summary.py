"""Home page section of requested reviews, stale documents and failures."""

from django.http import HttpResponse

from kmapp.web.http import WebRequest
from kmapp.web.page_access import page_view
from kmapp.web.responses import render_polled
from knowledge.models import KnowledgeDocument

MAX_LATEST = 8  # documents


@page_view("GET")
def summary(request: WebRequest) -> HttpResponse:
    rows = KnowledgeDocument.objects.of(request.account_id).not_removed()
    requested = rows.filter(reviewer=str(request.actor)).newest_first()
    context = {
        "requested": list(requested[:MAX_LATEST]),
        "stale": rows.stale().count(),
        "failed": rows.filter(state=KnowledgeDocument.State.FAILED).count(),
    }
    return render_polled(request, "knowledge/summary/index.html", context, part="panel")
