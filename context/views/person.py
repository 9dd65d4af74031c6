"""The page of one person: what the account stores about them, its export and its erasure."""

from typing import Any

from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from context.reports.personal_data_export import count_rows, export_person
from context.reports.sessions import list_sessions_of
from context.views.sessions import read_id
from kmapp.accounts.permissions import Permission
from kmapp.errors import NotFound
from kmapp.web.http import WebRequest
from kmapp.web.page_access import page_view
from memory.actions.record_export import record_export
from memory.models import MemoryExport

LABELS = {
    "memory": _("memories"),
    "memory_version": _("versions of memories"),
    "rating": _("ratings of memories"),
    "extraction": _("extractions"),
    "judgement": _("judgements"),
    "ranking_comparison": _("ranking comparisons"),
    "tool_result": _("tool results"),
    "call": _("model calls"),
    "call_input": _("call inputs"),
    "conversation_summary": _("conversation summaries"),
    "rule_decision": _("rule decisions"),
    "rule_feedback": _("feedback on rules"),
}


@page_view("GET")
def person(request: WebRequest) -> HttpResponse:
    """Show the page of a person, or a form that asks for the id."""
    user_id = read_id(request.GET, "user")
    context: dict[str, Any] = {"user_id": user_id}
    if user_id:
        counts = count_rows(request.account_id, user_id, with_parts=False)
        context |= {
            "counts": [(LABELS[name], number) for name, number in counts.items()],
            "total": sum(counts.values()),
            "sessions": list_sessions_of(request.account_id, user_id),
        }
    return render(request, "context/people/detail.html", context)


@page_view("POST", needs=Permission.ERASE)
def export(request: WebRequest) -> StreamingHttpResponse:
    """Stream everything about a person as NDJSON. The export is recorded in the ledger."""
    user_id = read_id(request.POST, "user")
    counts = count_rows(request.account_id, user_id, with_parts=True) if user_id else {}
    total = sum(counts.values())
    if not total:
        raise NotFound(gettext("This account stores nothing under this user ID."))
    record_export(
        request.account_id,
        request.actor,
        form=MemoryExport.Form.NDJSON,
        query=f"user_id={user_id}",
        number=total,
    )
    answer = StreamingHttpResponse(
        export_person(request.account_id, user_id), content_type="application/x-ndjson"
    )
    day = timezone.localdate().isoformat()
    answer.headers["Content-Disposition"] = f'attachment; filename="person-{day}.ndjson"'
    return answer
