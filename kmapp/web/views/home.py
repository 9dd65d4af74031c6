"""The home page, composed of sections that each app renders, and the kernel's own sections."""

from django.db.models import Min
from django.http import HttpResponse
from django.shortcuts import render

from kmapp.ledger.checkpoint_status import behind, newest_checkpoint
from kmapp.ledger.models import Commit
from kmapp.outbox.models import Delivery
from kmapp.web.http import WebRequest
from kmapp.web.navigation import HOME_PANELS, find_url
from kmapp.web.page_access import page_view
from kmapp.web.responses import render_polled


@page_view("GET")
def home(request: WebRequest) -> HttpResponse:
    panels = [
        {"url": url, "label": label}
        for name, label in HOME_PANELS.items()
        if (url := find_url(name))
    ]
    return render(request, "web/home/index.html", {"panels": panels})


@page_view("GET")
def operations_summary(request: WebRequest) -> HttpResponse:
    rows = Delivery.objects.of(request.account_id)
    context = {
        "dead": rows.dead().count(),
        "owed": rows.open().count(),
        "oldest": rows.open().aggregate(oldest=Min("event__created_at"))["oldest"],
    }
    return render_polled(request, "web/operations/summary.html", context, part="panel")


@page_view("GET")
def ledger_summary(request: WebRequest) -> HttpResponse:
    account_id = request.account_id
    head = Commit.objects.of(account_id).order_by("-seq").first()
    checkpoint = newest_checkpoint(account_id)
    context = {
        "behind": behind(account_id),
        # Sequence numbers have no gaps, so their difference is the number of commits.
        "unsigned": (head.seq if head else 0) - (checkpoint.seq if checkpoint else 0),
        "head": head,
        "checkpoint": checkpoint,
    }
    return render_polled(request, "web/ledger/summary.html", context, part="panel")
