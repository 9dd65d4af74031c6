"""Charts of the last days on the home page."""

from django.http import HttpResponse

from kmapp.web.http import WebRequest
from kmapp.web.page_access import page_view
from kmapp.web.responses import render_part
from kmapp.web.statistics.daily import build_charts

HOME_CHARTS = ("memories", "backlog", "review_time", "ratings", "tokens", "failed_jobs")


@page_view("GET")
def trends(request: WebRequest) -> HttpResponse:
    context = {"charts": build_charts(request.account_id, HOME_CHARTS)}
    return render_part(request, "web/home/trends.html", "panel", context)
