"""Pages of calls: list and detail."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse

from context.actions.replays import RecordedCall, load_recorded_calls, replay
from context.assembly.budget_enforcement import Draft, MessageRow
from context.assembly.messages import (
    list_answered_ids,
    list_calls,
    list_slots,
    message_text,
    split_turns,
)
from context.assembly.token_counts import encode_json
from context.models import ContextCostReport
from context.reports import report_labels
from context.reports.call_report import SECTIONS, pair_citations
from context.reports.chart_geometry import build_bar, build_steps
from context.views.filters import CallFilter
from kmapp.web.actor_names import list_actor_names
from kmapp.web.http import WebRequest, paginate, uuid_or_404
from kmapp.web.page_access import page_view
from kmapp.web.responses import format_api_command, render_part
from knowledge.views.passage_search import build_passage_url
from memory.actions.judgements import load_labels
from memory.models import Viewer

FIRST_CALL = '{"messages": [{"role": "user", "content": "When does the tea room open?"}]}'
LARGEST_TOOLS = 10
PAGES = {"memory": "memory:entry", "lore": "knowledge:lore_entry", "rules": "rules:rule"}
MAX_CHARACTERS = 4_000  # characters of one part on the page


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptPart:
    kind: str  # prefix, message, tail
    title: str
    note: str
    text: str
    left_out: int
    tokens: int


@page_view("GET")
def calls(request: WebRequest) -> HttpResponse:
    rows = ContextCostReport.objects.of(request.account_id)
    filtered = CallFilter(request.GET, queryset=rows.newest_first(), request=request)
    page = paginate(request, filtered.qs.ids())
    reports = list(rows.load_page(page.object_list))
    largest = max((row.total for row in reports), default=0)
    context = {
        "filter": filtered,
        "page": page,
        "rows": [{"row": row, "bar": label_bar(row, largest)} for row in reports],
        "narrowed": filtered.is_narrowed,
        "sections": report_labels.SECTIONS,
        "actions": report_labels.ACTIONS,
        "first_command": format_api_command(request, "context:api_assemble", FIRST_CALL),
    }
    return render_part(request, "context/calls/index.html", "list", context)


def label_bar(row: ContextCostReport, largest: int) -> list[dict[str, Any]]:
    """Return the sections of a call as a bar; `largest` is the tokens of the full width."""
    parts = build_bar({name: getattr(row, name) for name in SECTIONS}, largest)
    return [{"piece": part, "label": report_labels.SECTIONS[part.name]} for part in parts]


@page_view("GET")
def call(request: WebRequest, pk: UUID) -> HttpResponse:
    """Show one call: its tokens, decisions, evidence and prompt."""
    account_id = request.account_id
    rows = ContextCostReport.objects.of(account_id)
    row = get_object_or_404(rows, pk=pk)
    other = _get_compared(request, row)
    recorded_calls = load_recorded_calls(account_id, [row])
    draft = replay(recorded_calls[row.pk]).before if row.pk in recorded_calls else None
    steps_, budget_at = build_steps(row.report["decisions"], row.window - row.reserve)
    question = _question_of(row, recorded_calls.get(row.pk))
    context = {
        "call": row,
        "budget": row.window - row.reserve,
        "bar": label_bar(row, max(row.total, 1)),
        "steps": [{"step": step, "label": _label(step.action)} for step in steps_],
        "budget_at": budget_at,
        "evidence": _list_evidence(row.report, draft, question.get("labels", {})),
        **question,
        "tools": _largest_tools(row.report),
        "prompt": list_prompt_parts(draft) if draft else (),
        "has_inputs": draft is not None,
        "previous": _previous(row),
        "other": other,
        "compared": _compare_sections(row, other) if other else [],
        "names": list_actor_names([row.created_by]),
    }
    return render(request, "context/calls/detail.html", context)


def _label(action: str) -> str:
    return str(report_labels.ACTIONS.get(action, action))


def _previous(row: ContextCostReport) -> ContextCostReport | None:
    """Return the previous call of the conversation."""
    if not row.conversation_id:
        return None
    rows = ContextCostReport.objects.of(row.account_id).briefly().newest_first()
    same_conversation = {"conversation_id": row.conversation_id, "thread_id": row.thread_id}
    return rows.filter(**same_conversation, created_at__lt=row.created_at).first()


def _get_compared(request: WebRequest, row: ContextCostReport) -> ContextCostReport | None:
    other_id = request.GET.get("with")
    if not other_id:
        return None
    return get_object_or_404(ContextCostReport.objects.of(row.account_id), pk=uuid_or_404(other_id))


def _compare_sections(row: ContextCostReport, other: ContextCostReport) -> list[dict[str, Any]]:
    return [
        {
            "label": report_labels.SECTIONS[name],
            "before": getattr(other, name),
            "now": getattr(row, name),
            "change": getattr(row, name) - getattr(other, name),
        }
        for name in SECTIONS
    ]


def _list_evidence(
    report: Mapping[str, Any], draft: Draft | None, judged: Mapping[str, str]
) -> list[dict[str, Any]]:
    """Return the retrieved texts of the call as they were sent; the text only while inputs exist.

    `draft` is the call assembled again from its inputs.
    """
    texts = {snippet.ref: snippet.text for snippet in draft.snippets} if draft else {}
    return [
        {
            "citation": citation,
            "source": report_labels.SOURCES[citation["source"]],
            "item": item,
            "text": texts.get(item["ref"], "") if item else "",
            "url": citation_url(citation),
            "label": judged.get(citation["ref"]),  # None: not a memory of this account
        }
        for citation, item in pair_citations(report)
    ]


def _question_of(row: ContextCostReport, recorded_call: RecordedCall | None) -> dict[str, Any]:
    """Return the question of the call and who asked it, for judgements of its memories."""
    if recorded_call is None or not recorded_call.query:
        return {}
    viewer = Viewer(
        user_id=row.user_id,
        agent_id=row.agent_id,
        app_id=row.app_id,
        run_id=row.conversation_id,
        scope=(recorded_call.retrieval or {}).get("scope") or None,
    )
    ids = {UUID(one["ref"]) for one in row.report["citations"] if _is_own_memory(one)}
    stored = load_labels(row.account_id, recorded_call.query, viewer, ids)
    return {
        "question": recorded_call.query,
        "viewer": asdict(viewer),
        "labels": {str(pk): stored.get(pk, "") for pk in ids},
    }


def _is_own_memory(citation: Mapping[str, Any]) -> bool:
    return citation["source"] == "memory" and "remote" not in citation


def citation_url(citation: Mapping[str, Any]) -> str:
    """Return the page of a cited object, or an empty string if it is in another kmapp."""
    ref = citation["ref"]
    if "remote" in citation:
        return ""
    if citation["source"] == "knowledge":
        return build_passage_url(ref, [citation["locator"]["chunk_id"]])
    return reverse(PAGES[citation["source"]], args=[ref])


def _largest_tools(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    tools = [item for item in report["items"] if item["kind"] == "tool"]
    return sorted(tools, key=lambda item: -item["tokens"])[:LARGEST_TOOLS]


def list_prompt_parts(draft: Draft) -> list[PromptPart]:
    history = [row.message for row in draft.rows]
    turns = split_turns(history)
    start = turns[-1].start if turns else len(history)
    return [
        *(_build_part("prefix", part.name, part.text, part.tokens) for part in draft.prefix),
        *(_message_part(row) for row in draft.rows[:start]),
        *(_build_part("tail", part.name, part.text, part.tokens) for part in draft.tail),
        *(_message_part(row) for row in draft.rows[start:]),
    ]


def _build_part(kind: str, title: str, text: str, tokens: int, note: str = "") -> PromptPart:
    left_out = max(0, len(text) - MAX_CHARACTERS)
    shortened = text[:MAX_CHARACTERS]
    return PromptPart(
        kind=kind, title=title, note=note, text=shortened, left_out=left_out, tokens=tokens
    )


def _message_part(row: MessageRow) -> PromptPart:
    text = "\n".join(_message_lines(row.message))
    note = str(report_labels.STATES[row.state])
    return _build_part("message", str(row.message["role"]), text, row.tokens, note)


def _message_lines(message: Mapping[str, Any]) -> Iterator[str]:
    if message_text(message):
        yield message_text(message)
    for call in list_calls(message):
        yield f"→ {call.name}({encode_json(call.input)})"
    if list_answered_ids(message):
        yield from (slot.text for slot in list_slots([message]))
