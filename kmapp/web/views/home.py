"""The home page, composed of sections that each app renders, and the kernel's own sections."""

from django.db.models import Min
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from kmapp.accounts.models import User
from kmapp.accounts.permissions import Permission
from kmapp.ledger.chain_deviations import find_deviation, find_newest_checkpoint
from kmapp.ledger.models import Commit
from kmapp.outbox.models import Delivery
from kmapp.web.bounded_counts import count_figures, is_exact
from kmapp.web.http import WebRequest
from kmapp.web.navigation import HOME_PANELS, find_url
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_page, redirect_with_notice, render_part, render_polled
from kmapp.web.statistics.daily import build_charts
from kmapp.web.tour import TOUR

HOME_CHARTS = ("memories", "backlog", "review_time", "ratings", "tokens", "failed_jobs")


@page_view("GET")
def home(request: WebRequest) -> HttpResponse:
    panels = [
        {"url": url, "label": label}
        for name, label in HOME_PANELS.items()
        if (url := find_url(name))
    ]
    tour = [] if request.user.has_seen_tour else [step for step in TOUR if step.url]
    return render(request, "web/home/index.html", {"panels": panels, "tour": tour})


@page_view("POST", needs=Permission.READ)
def hide_tour(request: WebRequest) -> HttpResponse:
    """Hide the tour, in all accounts of the person."""
    _remember_tour(request, has_seen=True)
    undo = reverse("web:tour_show")
    return redirect_with_notice(request, _("The steps are hidden."), "web:home", undo=undo)


@page_view("POST", needs=Permission.READ)
def show_tour(request: WebRequest) -> HttpResponse:
    _remember_tour(request, has_seen=False)
    return redirect_page(request, reverse("web:home"))


def _remember_tour(request: WebRequest, *, has_seen: bool) -> None:
    User.objects.filter(pk=request.user.pk).update(has_seen_tour=has_seen)


@page_view("GET")
def operations_summary(request: WebRequest) -> HttpResponse:
    rows = Delivery.objects.of(request.account_id)
    figures = count_figures({"dead": rows.dead(), "pending_jobs": rows.open()})
    context = {**figures, "oldest": None}
    if is_exact(figures["pending_jobs"]):  # finding the oldest of many would read all
        context |= rows.open().aggregate(oldest=Min("event__created_at"))
    return render_polled(request, "web/operations/summary.html", context, part="panel")


@page_view("GET")
def ledger_summary(request: WebRequest) -> HttpResponse:
    account_id = request.account_id
    head = Commit.objects.of(account_id).order_by("-seq").first()
    checkpoint = find_newest_checkpoint(account_id)
    context = {
        "behind": find_deviation(account_id),
        # Sequence numbers have no gaps, so their difference is the number of commits.
        "unsigned": (head.seq if head else 0) - (checkpoint.seq if checkpoint else 0),
        "head": head,
        "checkpoint": checkpoint,
    }
    return render_polled(request, "web/ledger/summary.html", context, part="panel")


@page_view("GET")
def trends(request: WebRequest) -> HttpResponse:
    context = {"charts": build_charts(request.account_id, HOME_CHARTS)}
    return render_part(request, "web/home/trends.html", "panel", context)
