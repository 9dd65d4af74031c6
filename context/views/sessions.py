"""Pages of sessions: the list by latest activity, and the timeline of one session."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import render
from django.utils.dateparse import parse_datetime

from context.models import ContextCostReport
from context.reports import report_labels
from context.reports.call_report import pair_citations
from context.reports.citation_previews import load_cited_texts
from context.reports.sessions import ITEMS, TimelineItem, list_sessions, load_timeline, load_totals
from context.views.calls import citation_url, label_bar
from kmapp.web.http import WebRequest, format_cursor, parse_cursor
from kmapp.web.page_access import page_view
from kmapp.web.responses import format_api_command, render_part

MAX_ID_LENGTH = 200
MAX_CITATIONS = 5  # of a call on the page
FIRST_SESSION = (
    '{"text": "Mira asks when the tea room opens.", "user_id": "mira", "run_id": "run-1"}'
)


@page_view("GET")
def sessions(request: WebRequest) -> HttpResponse:
    prefix = read_id(request.GET, "q")
    page = list_sessions(request.account_id, before=_parse_time(request), prefix=prefix)
    context = {
        "sessions": page.sessions,
        "before": page.before.isoformat() if page.before else "",
        "words": prefix,
        "is_first": not request.GET.get("before"),
        "first_command": format_api_command(request, "memory:api_store", FIRST_SESSION),
    }
    return render_part(request, "context/sessions/index.html", "list", context)


def read_id(params: QueryDict, name: str) -> str:
    return str(params.get(name, "")).replace("\x00", "").strip()[:MAX_ID_LENGTH]


def _parse_time(request: WebRequest) -> datetime | None:
    try:
        moment = parse_datetime(request.GET.get("before", ""))
    except ValueError:
        return None
    return moment if moment and moment.tzinfo else None


@page_view("GET")
def session(request: WebRequest) -> HttpResponse:
    """Show the items of a session in order of time."""
    run_id = read_id(request.GET, "run")
    totals = load_totals(request.account_id, [run_id])[run_id] if run_id else None
    if not totals or not totals.counts:
        raise Http404
    after = parse_cursor(request.GET.get("after", ""))
    if after is None and sum(totals.counts.values()) > ITEMS:
        after = parse_cursor(request.GET.get("at", ""))  # the page that begins at one item
    timeline = load_timeline(request.account_id, run_id, after=after)
    largest = max((item.row.total for item in timeline.items if item.kind == "call"), default=1)
    calls = [item.row for item in timeline.items if item.kind == "call"]
    citations = [each for row in calls for each in row.report["citations"][:MAX_CITATIONS]]
    texts = load_cited_texts(request.account_id, citations)
    context = {
        "session": totals,
        "items": [_describe(item, largest, texts) for item in timeline.items],
        "after": format_cursor(*timeline.after) if timeline.after else "",
        "is_first": after is None,
        "sections": report_labels.SECTIONS if totals.counts.get("call") else {},
    }
    return render(request, "context/sessions/detail.html", context)


def _describe(item: TimelineItem, largest: int, texts: Mapping[str, str]) -> dict[str, Any]:
    described: dict[str, Any] = {"kind": item.kind, "at": item.at, "row": item.row}
    if item.kind == "memory":
        described["speaker"] = item.row.slots.get("speaker", "")
    if item.kind == "call":
        described |= _describe_call(item.row, largest, texts)
    return described


def _describe_call(
    row: ContextCostReport, largest: int, texts: Mapping[str, str]
) -> dict[str, Any]:
    citations = [
        {
            "source": report_labels.SOURCES[citation["source"]],
            "ref": citation["ref"],
            "text": texts.get(citation["ref"], ""),
            "url": citation_url(citation),
            "score": item["score"] if item else None,
        }
        for citation, item in pair_citations(row.report)
    ]
    return {
        "bar": label_bar(row, largest),
        "citations": citations[:MAX_CITATIONS],
        "more": max(0, len(citations) - MAX_CITATIONS),
        "actions": [report_labels.ACTIONS.get(action, action) for action in row.actions],
    }
