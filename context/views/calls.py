"""Calls: found, and looked into: what each was given, what gave way, and what it cost."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.core.paginator import Paginator
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from context.actions.replays import Recording, again, recordings
from context.assembly.budget import Draft
from context.models import ContextCostReport
from context.reports import labels
from context.reports.call_report import SECTIONS
from context.reports.chart_data import pieces, steps
from context.views.call_prompt import PromptPart, prompt_of
from context.views.filters import CallFilter
from kmapp.web.actor_names import list_actor_names
from kmapp.web.http import WebRequest, account_id_for, fragment, uuid_or_404
from kmapp.web.page_access import reviewer_required

PAGE = 50
LARGEST_TOOLS = 10
PAGES = {
    "memory": "memory:entry",
    "knowledge": "knowledge:chunk",
    "lore": "knowledge:lore_entry",
    "rules": "rules:rule",
}


@require_safe
@reviewer_required
def calls(request: WebRequest) -> HttpResponse:
    """Newest first; each with a bar of what it was made of."""
    rows = ContextCostReport.objects.of(account_id_for(request))
    narrowed = CallFilter(request.GET, queryset=rows.newest_first())
    page = Paginator(narrowed.qs.ids(), PAGE).get_page(request.GET.get("page"))
    found = list(rows.these(page.object_list))
    most = max((row.total for row in found), default=0)
    context = {
        "filter": narrowed,
        "page": page,
        "shown": [{"row": row, "bar": _bar(row, most)} for row in found],
        "narrowed": any(request.GET.get(name) for name in narrowed.filters),
        "sections": labels.SECTIONS,
        "actions": labels.ACTIONS,
        "first_command": _first_command(request),
    }
    return render(request, fragment(request, "context/calls/index.html", "list"), context)


def _bar(row: ContextCostReport, most: int) -> list[dict[str, Any]]:
    parts = pieces({name: getattr(row, name) for name in SECTIONS}, most)
    return [{"piece": part, "label": labels.SECTIONS[part.name]} for part in parts]


def _first_command(request: WebRequest) -> str:
    """What an empty list teaches: how a first call is assembled."""
    address = request.build_absolute_uri(reverse("context:api_assemble"))
    body = '{"messages": [{"role": "user", "content": "When does the tea room open?"}]}'
    return (
        f"curl -s {address} -H 'Authorization: Bearer YOUR_KEY' "
        f"-H 'Content-Type: application/json' -d '{body}'"
    )


@require_safe
@reviewer_required
def call(request: WebRequest, pk: UUID) -> HttpResponse:
    """One call: its tokens, its decisions, what was found for it, and the prompt itself."""
    account_id = account_id_for(request)
    rows = ContextCostReport.objects.of(account_id)
    row = get_object_or_404(rows, pk=pk)
    other = _compared(request, row)
    known = recordings(account_id, [row])
    draft = again(known[row.pk]).before if row.pk in known else None
    drawn, budget_at = steps(row.report["decisions"], row.window - row.reserve)
    context = {
        "call": row,
        "budget": row.window - row.reserve,
        "bar": _bar(row, max(row.total, 1)),
        "steps": [{"step": step, "label": _label(step.action)} for step in drawn],
        "budget_at": budget_at,
        "evidence": _evidence(row.report, known.get(row.pk)),
        "tools": _tools(row.report),
        "prompt": _prompt(draft),
        "kept": draft is not None,
        "previous": _previous(row),
        "other": other,
        "compared": _differences(row, other) if other else [],
        "names": list_actor_names([row.created_by]),
    }
    return render(request, "context/calls/detail.html", context)


def _label(action: str) -> str:
    return str(labels.ACTIONS.get(action, action))


def _previous(row: ContextCostReport) -> ContextCostReport | None:
    """The call before this one in its conversation."""
    if not row.conversation_id:
        return None
    rows = ContextCostReport.objects.of(row.account_id).briefly().newest_first()
    mine = {"conversation_id": row.conversation_id, "thread_id": row.thread_id}
    return rows.filter(**mine, created_at__lt=row.created_at).first()


def _compared(request: WebRequest, row: ContextCostReport) -> ContextCostReport | None:
    said = request.GET.get("with")
    if not said:
        return None
    return get_object_or_404(ContextCostReport.objects.of(row.account_id), pk=uuid_or_404(said))


def _differences(row: ContextCostReport, other: ContextCostReport) -> list[dict[str, Any]]:
    return [
        {
            "label": labels.SECTIONS[name],
            "before": getattr(other, name),
            "now": getattr(row, name),
            "change": getattr(row, name) - getattr(other, name),
        }
        for name in SECTIONS
    ]


def _evidence(report: Mapping[str, Any], known: Recording | None) -> list[dict[str, Any]]:
    """What was retrieved and is in the call, with its text as long as that is kept."""
    texts = {each.ref: each.text for each in known.material.snippets} if known else {}
    items = {i["ref"]: i for i in report["items"] if i["kind"] == "snippet"}
    return [
        {
            "citation": each,
            "source": labels.SOURCES[each["source"]],
            "item": items.get(each["ref"]),
            "text": texts.get(each["ref"], ""),
            "url": _page(each),
        }
        for each in report["citations"]
    ]


def _page(citation: Mapping[str, Any]) -> str:
    ref = citation["ref"]
    if "remote" in citation:  # it stands in another kmapp
        return ""
    if citation["source"] == "knowledge":
        ref = citation["locator"]["chunk_id"]
    return reverse(PAGES[citation["source"]], args=[ref])


def _tools(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    tools = [item for item in report["items"] if item["kind"] == "tool"]
    return sorted(tools, key=lambda item: -item["tokens"])[:LARGEST_TOOLS]


def _prompt(draft: Draft | None) -> Sequence[PromptPart]:
    return prompt_of(draft) if draft else ()
