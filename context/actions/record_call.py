"""Recording of a call: its report, for some days its inputs, and later its outcome."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any
from uuid import UUID

from django.utils import timezone

from context.actions.archives import store_archives
from context.actions.conversation_summaries import store_summary
from context.actions.model_summaries import initial_reason
from context.archives.erasure_lookup_keys import collect_lookup_keys
from context.assembly.budget_enforcement import slot_key
from context.assembly.messages import Message
from context.assembly.prompt_inputs import Snippet
from context.assembly.stage_data import (
    Assembled,
    AssemblyRequest,
    Recorded,
    build_retrieval_request,
)
from context.models import (
    ContextBody,
    ContextCitation,
    ContextCostReport,
    ContextInput,
    ContextSettings,
)
from context.reports.call_part_digests import body_digest, encode_json
from context.reports.call_report import SECTIONS, calculate_cost, list_called_tools, tokens_by_tool
from kmapp.database.raw_sql import fetch_all
from kmapp.errors import NotFound
from kmapp.security.pii import redact, redact_json

SCALAR_FIELDS = ("profile", "provider", "language", "nonce")  # of the input, stored as they are
MAX_ACTIONS = 30


def record_call(request: AssemblyRequest, assembled: Assembled) -> Recorded:
    """Store a new summary, archive pruned results, and store the report. Inside `acting`."""
    report = dict(assembled.report)
    summary = assembled.draft.compacted
    if summary and summary != assembled.collected.call_input.compacted:
        flush = store_summary(request, assembled.collected, summary)
        report["decisions"] = _insert_flush_decision(report["decisions"], flush)
    _archive_pruned_results(request, assembled)
    row = _build_report(request, assembled, report)
    row.save(force_insert=True)
    _create_citations(assembled, row)
    _store_inputs(request, assembled, row)
    return Recorded(assembled=assembled, report_id=row.pk, report=report)


def _insert_flush_decision(
    decisions: Sequence[Mapping[str, Any]], flush: Mapping[str, Any]
) -> list[Mapping[str, Any]]:
    """Insert the memory decision before the summary, in the order of execution."""
    position = next(n for n, item in enumerate(decisions) if item["action"] == "auto_compact")
    summary_decision = {**decisions[position], "extractive": initial_reason()}
    return [*decisions[:position], flush, summary_decision, *decisions[position + 1 :]]


def _archive_pruned_results(request: AssemblyRequest, assembled: Assembled) -> None:
    """Archive pruned results whose pointer remains in the call."""
    draft, collected = assembled.draft, assembled.collected
    remaining = {row.index for row in draft.rows}
    keys = dict.fromkeys(slot_key(slot) for slot in draft.pruned if slot.index in remaining)
    pruned = [collected.archivable[key] for key in keys if key in collected.archivable]
    if pruned:
        store_archives(collected.settings, request.actor, pruned)


def _build_report(
    request: AssemblyRequest, assembled: Assembled, report: Mapping[str, Any]
) -> ContextCostReport:
    estimated = report["estimated_tokens"]
    price = assembled.collected.settings.prices.get(request.model)
    actions = dict.fromkeys(str(item["action"]) for item in report["decisions"])
    return ContextCostReport(
        account_id=request.account_id,
        **request.within.ids(),
        agent_id=request.agent_id,
        app_id=request.app_id,
        model=request.model,
        variant=assembled.collected.variant.name,
        window=request.window,
        reserve=request.reserve,
        total=estimated["total"],
        **{name: estimated[name] for name in SECTIONS},
        prefix_sha256=report["prefix_sha256"],
        tool_tokens=tokens_by_tool(report["items"]),
        called_tools=list_called_tools(report["items"]),
        actions=list(actions)[:MAX_ACTIONS],
        report=report,
        created_by=str(request.actor),
        created_at=timezone.now(),
        cost=calculate_cost(price, {"input": estimated["total"]}),
    )


def _create_citations(assembled: Assembled, row: ContextCostReport) -> None:
    draft = assembled.draft
    # A passage is also cited by its document, because the next version deletes its chunks.
    refs = [
        ref
        for item in draft.snippets
        for ref in (item.citation["ref"], *(item.made_of or [item.ref]))
    ]
    refs += [item["ref"] for item in draft.call_input.rule_outcome.citations]
    common = {"account_id": row.account_id, "report": row, "created_at": row.created_at}
    citations = [ContextCitation(ref=UUID(ref), **common) for ref in dict.fromkeys(refs)]
    ContextCitation.objects.bulk_create(citations)


def _store_inputs(request: AssemblyRequest, assembled: Assembled, row: ContextCostReport) -> None:
    account_id, collected = request.account_id, assembled.collected
    call_input, kinds = collected.call_input, collected.settings.account.redact
    messages = dict(zip(collected.bodies, call_input.messages, strict=True))
    bodies: dict[UUID, Any] = {**messages}

    def add_body(value: Any) -> str:
        key = body_digest(account_id, value)
        bodies[key] = value
        return str(key)

    rest = {
        "tools": [add_body(tool) for tool in call_input.tools],
        "sections": [
            {"name": item.name, "text": add_body(item.text), "stable": item.stable}
            for item in call_input.sections
        ],
        "snippets": [{**asdict(item), "text": add_body(item.text)} for item in call_input.snippets],
        "bound": asdict(call_input.rule_outcome),
        "groups": dict(call_input.groups),
        "required_tools": list(call_input.required_tools),
        **{name: getattr(call_input, name) for name in SCALAR_FIELDS},
        "pointers": {key: str(pk) for key, pk in call_input.pointers.items()},
        "query": redact(collected.query, kinds)[0],
        "wanted": build_retrieval_request(request, collected).replay_settings(),
    }
    if summary := call_input.compacted:
        rest["compacted"] = {**asdict(summary), "text": redact(summary.text, kinds)[0]}
    store_bodies(account_id, bodies, messages, kinds)
    ContextInput.objects.create(
        account_id=account_id,
        report=row,
        messages=list(collected.bodies),
        refs=_list_sources(call_input.snippets),
        rest=rest,
        created_at=row.created_at,
    )


def _list_sources(snippets: Sequence[Snippet]) -> list[str]:
    """Return what the snippets come from: chunks and their documents, memories, lore."""
    refs = [ref for item in snippets for ref in (item.ref, str(item.citation["ref"]))]
    return list(dict.fromkeys(refs))


_EXISTING = "SELECT id, used_on FROM context_contextbody WHERE account_id = %s AND id = ANY (%s)"


def store_bodies(
    account_id: UUID,
    values: Mapping[UUID, Any],
    messages: Mapping[UUID, Message],
    kinds: Collection[str],
) -> None:
    """Store new parts, redacted as the account requires. Inside `acting`.

    Only messages hold tool results; a tool's schema may look like one.

    A row last used on an earlier day is locked while its day is updated, so that the clean-up,
    which goes by that day, does not delete it at the same time.
    """
    today = timezone.now().date()
    # An array, because hundreds of query parameters are slower.
    existing = dict(fetch_all(_EXISTING, [account_id, list(values)]))
    stale = [pk for pk, day in existing.items() if day < today]
    if stale:
        locked = ContextBody.objects.of(account_id).filter(pk__in=stale).select_for_update()
        locked_ids = set(locked.order_by("pk").values_list("pk", flat=True))
        ContextBody.objects.of(account_id).filter(pk__in=locked_ids).update(used_on=today)
        existing = {pk: day for pk, day in existing.items() if day >= today or pk in locked_ids}
    new = sorted(values.keys() - existing.keys())
    redacted = {pk: redact_json(values[pk], kinds)[0] for pk in new}
    keys = collect_lookup_keys(account_id, messages, redacted)
    common = {"account_id": account_id, "used_on": today}
    rows = [
        ContextBody(id=pk, text=encode_json(part), results=keys.get(pk, []), **common)
        for pk, part in redacted.items()
    ]
    # Another call of the conversation may have stored some of them first.
    ContextBody.objects.bulk_create(rows, ignore_conflicts=True)


# --- Outcome --------------------------------------------------------------------------------------


def get_report(account_id: UUID, pk: UUID, *, lock: bool = False) -> ContextCostReport:
    """Return the report. Raises NotFound. Inside `acting`.

    `lock` locks the row until the transaction ends.
    """
    rows = ContextCostReport.objects.of(account_id)
    row = (rows.select_for_update(no_key=True) if lock else rows).filter(pk=pk).first()
    if row is None:
        raise NotFound("The report does not exist.")
    return row


def record_outcome(account_id: UUID, pk: UUID, outcome: Mapping[str, Any]) -> ContextCostReport:
    """Update the reported fields of the outcome; an empty model is none. Inside `acting`."""
    # Locked, so that concurrent partial outcomes are not lost.
    row = get_report(account_id, pk, lock=True)
    names = ("success", "input_tokens", "output_tokens", "cached_tokens", "latency_ms", "model")
    for name in names:
        if outcome.get(name) not in (None, ""):
            setattr(row, name, outcome[name])
    row.cost = calculate_call_cost(ContextSettings.objects.get_or_default(account_id), row)
    row.outcome_at = timezone.now()
    row.save(update_fields=[*names, "cost", "outcome_at"])
    return row


def calculate_call_cost(settings: ContextSettings, row: ContextCostReport) -> Any:
    """Return the cost by the provider's token counts, or by our estimate without them."""
    usage = {
        "input": row.total if row.input_tokens is None else row.input_tokens,
        "output": row.output_tokens or 0,
        "cached": row.cached_tokens or 0,
    }
    return calculate_cost(settings.prices.get(row.model), usage)
