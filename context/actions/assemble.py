"""Assembly of one model call in four stages: collect, retrieve, assemble, record."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, takewhile
from time import monotonic
from typing import Any
from uuid import UUID

from context.actions.conversation_summaries import build_stored_summary, find_summary
from context.actions.match_archived_results import build_new_results, find_archived_results
from context.actions.record_call import record_call
from context.archives.tool_result_selection import find_archive_id, list_older_slots, slot_position
from context.assembly.assembly_policy import AssemblyPolicy
from context.assembly.budget_enforcement import BudgetExceeded, Draft, fit_into_budget, slot_key
from context.assembly.messages import (
    SYSTEM,
    Message,
    drop_orphans,
    last_user_text,
    message_text,
    uses_anthropic_format,
)
from context.assembly.prompt_fence import create_nonce
from context.assembly.prompt_inputs import ANTHROPIC, OPENAI, CallInput, Section
from context.assembly.retrieval import Retrieved, retrieve
from context.assembly.retrieval_request import shorten_query
from context.assembly.snippet_locks import lock_snippets
from context.assembly.stage_data import (
    Assembled,
    AssemblyRequest,
    Collected,
    Recorded,
    build_retrieval_request,
)
from context.assembly.token_counts import count_message, count_messages
from context.assembly.tool_profiles import offer_tools
from context.assembly.variant_assignment import assign_variant
from context.models import ContextSettings, ContextSummary, ToolResultArchive
from context.models.archives import NewResult
from context.reports.call_part_digests import body_digest
from context.reports.call_report import build_report
from kmapp.accounts.acting import acting
from kmapp.database.erasure_locks import lock_for_copy, lock_remaining
from kmapp.errors import TooLarge
from kmapp.search.variants import DEFAULT_VARIANT, VARIANTS, Variant
from kmapp.text import token_counter

MIN_ARCHIVED = 1_000  # characters of a tool result that is archived when it is cleared
RULES_RESERVE = 2_000  # tokens for the text of rules


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedCall:
    """An assembled call that is not recorded yet."""

    request: AssemblyRequest
    retrieved: Retrieved
    assembled: Assembled
    timings: Mapping[str, Any]  # milliseconds


def assemble_call(request: AssemblyRequest) -> Recorded:
    """Run all stages. Opens `acting` itself; raises TooLarge if the call cannot fit."""
    call = prepare_call(request)
    with acting(request.account_id):
        return store_call(call)


def prepare_call(request: AssemblyRequest) -> PreparedCall:
    """Collect, retrieve and assemble. Opens `acting` itself; raises TooLarge if it cannot fit."""
    moments = [monotonic()]
    collected = collect_input(request)
    moments.append(monotonic())
    retrieved = retrieve(build_retrieval_request(request, collected))
    moments.append(monotonic())
    assembled = assemble(request, collected, retrieved)
    if not collected.has_older and (assembled.draft.pruned or assembled.draft.compacted):
        # The text of the rules took more than its reserve.
        collected = collect_input(request, with_older=True)
        assembled = assemble(request, collected, retrieved)
    moments.append(monotonic())
    durations = [round(1000 * (end - start), 2) for start, end in pairwise(moments)]
    stages = dict(zip(("collect", "retrieve", "assemble"), durations, strict=True))
    timings = {**stages, "sources": dict(retrieved.timings)}
    return PreparedCall(request=request, retrieved=retrieved, assembled=assembled, timings=timings)


def store_call(call: PreparedCall) -> Recorded:
    """Record the call, without texts that were erased after their retrieval. Inside `acting`.

    The other texts cannot be erased before the transaction ends, so that a later erasure finds a
    response that is stored in the same transaction.
    """
    request, retrieved, assembled = call.request, call.retrieved, call.assembled
    _lock_archives(request, assembled.collected)
    remaining = lock_snippets(request.account_id, retrieved.snippets)
    collected = _lock_summary(request, assembled.collected)
    erased = len(retrieved.snippets) - len(remaining) + (collected is not assembled.collected)
    if erased:
        decision = {"action": "drop_erased", "texts": erased}
        decisions = [*retrieved.decisions, decision]
        retrieved = replace(retrieved, snippets=remaining, decisions=decisions)
        assembled = assemble(request, collected, retrieved)
    report = {**assembled.report, "timings_ms": call.timings}
    return record_call(request, replace(assembled, report=report))


def _lock_archives(request: AssemblyRequest, collected: Collected) -> None:
    """Lock stored archives of results that the call may archive.

    This lock is taken first, because an erasure also locks archives before it waits for calls with
    their summaries.
    """
    keys = [result.key_in(request.account_id) for result in collected.archivable.values()]
    if keys:
        lock_remaining(request.account_id, {ToolResultArchive: keys})


def _lock_summary(request: AssemblyRequest, collected: Collected) -> Collected:
    """Lock the stored summary as `lock_snippets` does, or return the input without it."""
    ids = [collected.summary_id] if collected.summary_id else []
    if not ids or lock_for_copy(request.account_id, {ContextSummary: ids}):
        return collected
    call_input = replace(collected.call_input, compacted=None)
    return replace(collected, call_input=call_input, summary_id=None)


# --- Collect --------------------------------------------------------------------------------------


def collect_input(request: AssemblyRequest, *, with_older: bool = False) -> Collected:
    """Return the input of the call: valid messages, settings, earlier archives and summary.

    Without `with_older`, archives and summary are left out if the call is too small to need them.
    """
    leading, rest = _split_instructions(request.messages)
    messages = drop_orphans(rest)
    bodies = [body_digest(request.account_id, message) for message in messages]
    sizes = [count_message(message) for message in messages]
    with acting(request.account_id):
        settings = ContextSettings.objects.get_or_default(request.account_id)
        policy = settings.assembly_policy().with_changes(request.policy)
        size = count_messages(leading) + sum(sizes)
        has_older = with_older or _may_exceed_budget(request, size, policy)
        language = request.language or settings.language
        older, summary = _OlderResults(), None
        if has_older:
            older = _list_older_results(request, language, messages, policy)
            summary = find_summary(request, messages, bodies, language)
    decisions: list[Mapping[str, Any]] = [
        {"action": "source_not_allowed", "source": name} for name in request.refused_sources
    ]
    if len(messages) < len(rest):
        decisions.append({"action": "drop_orphans", "messages": len(rest) - len(messages)})
    texts = [text for message in leading if (text := message_text(message))]
    instructions = [Section(name="instructions", text=text) for text in texts]
    call_input = CallInput(
        messages=messages,
        sizes=sizes,
        window=request.window,
        reserve=request.reserve,
        sections=[*instructions, *request.sections],
        tools=request.tools,
        groups=request.groups,
        required_tools=request.required_tools,
        profile=request.profile,
        provider=request.provider or _provider(request),
        language=language,
        pointers=older.pointers,
        compacted=build_stored_summary(summary) if summary else None,
    )
    text = request.query or last_user_text(messages)
    query = shorten_query(text)
    if query != text:
        decisions.append({"action": "shorten_query", "characters": len(text), "used": len(query)})
    variant, variant_by = _choose_variant(request, settings)
    return Collected(
        settings=settings,
        policy=policy,
        variant=variant,
        variant_by=variant_by,
        call_input=call_input,
        query=query,
        decisions=decisions,
        bodies=bodies,
        has_older=has_older,
        archivable=older.archivable,
        summary_id=summary.pk if summary else None,
    )


def _choose_variant(request: AssemblyRequest, settings: ContextSettings) -> tuple[Variant, str]:
    """Return the requested variant, else the assigned one, else the default."""
    if request.variant:
        return request.variant, "asked"
    name = assign_variant(request.account_id, request.within.conversation_id, settings.variants)
    return (VARIANTS[name], "assigned") if name else (DEFAULT_VARIANT, "default")


def _may_exceed_budget(request: AssemblyRequest, size: int, policy: AssemblyPolicy) -> bool:
    """Return whether more than the retrieved texts may have to be dropped."""
    tools = offer_tools(request.tools, request.groups, strict=policy.strict_tools)
    size += sum(tool.tokens for tool in tools)
    size += sum(token_counter.count_tokens(section.text) for section in request.sections)
    return size + RULES_RESERVE > request.window - request.reserve


def _split_instructions(messages: Sequence[Message]) -> tuple[list[Message], list[Message]]:
    leading = list(takewhile(lambda message: message["role"] in SYSTEM, messages))
    return leading, list(messages[len(leading) :])


def _provider(request: AssemblyRequest) -> str:
    is_anthropic = uses_anthropic_format(request.messages) or any(
        "input_schema" in tool for tool in request.tools
    )
    return ANTHROPIC if is_anthropic else OPENAI


@dataclass(frozen=True, slots=True, kw_only=True)
class _OlderResults:
    """Older tool results by slot key: their archives, and the input to archive new ones."""

    pointers: Mapping[str, UUID] = field(default_factory=dict)
    archivable: Mapping[str, NewResult] = field(default_factory=dict)


def _list_older_results(
    request: AssemblyRequest, language: str, messages: Sequence[Message], policy: AssemblyPolicy
) -> _OlderResults:
    slots = [
        slot
        for slot in list_older_slots(messages, policy.protected_turns)
        if len(slot.text) >= MIN_ARCHIVED and find_archive_id(slot.text) is None
    ]
    rows = ToolResultArchive.objects.of(request.account_id).in_scope(request.within)
    existing = find_archived_results(rows, request.account_id, slots)
    new_slots = [slot for slot in slots if slot_position(slot) not in existing]
    common = {"agent_id": request.agent_id, "language": language}
    results = build_new_results(messages, new_slots, request.within, **common)
    archivable = dict(zip(map(slot_key, new_slots), results, strict=True))
    stored = {
        slot_key(slot): row.pk for slot in slots if (row := existing.get(slot_position(slot)))
    }
    new = {key: result.key_in(request.account_id) for key, result in archivable.items()}
    return _OlderResults(pointers={**stored, **new}, archivable=archivable)


# --- Assemble -------------------------------------------------------------------------------------


def assemble(request: AssemblyRequest, collected: Collected, retrieved: Retrieved) -> Assembled:
    call_input = replace(
        collected.call_input,
        snippets=retrieved.snippets,
        query=collected.query,
        rule_outcome=retrieved.rule_outcome,
        nonce=create_nonce([snippet.text for snippet in retrieved.snippets]),
    )
    draft = _fit(call_input, collected.policy)
    report = build_report(draft)
    report |= {
        "decisions": [*collected.decisions, *retrieved.decisions, *report["decisions"]],
        **collected.variant.versions(),
        "variant_by": collected.variant_by,
        "model": request.model or None,
        "cache": {"query_vector": "hit" if retrieved.cached else "miss"},
        "policy": collected.policy.body(),
    }
    return Assembled(
        collected=replace(collected, call_input=call_input), draft=draft, report=report
    )


def _fit(call_input: CallInput, policy: AssemblyPolicy) -> Draft:
    try:
        return fit_into_budget(call_input, policy)
    except BudgetExceeded as error:
        raise TooLarge(
            f"The protected parts need {error.needed:,} tokens; the budget is {error.budget:,}. "
            "Use a larger window, fewer protected turns or a shorter last message.",
            code="over_budget",
            details={
                "needed_tokens": error.needed,
                "budget_tokens": error.budget,
                "sections": error.sections,
            },
        ) from error
