"""Extraction of memories from stored input by a chat model, run by a worker.

All results are written in one commit, after the last answer is parsed.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any
from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.providers.errors import ProviderError
from kmapp.search.query_vector import fails_for_this_text_only
from kmapp.security.prompt_injection import detect_flags
from memory.actions import apply_extraction
from memory.actions.apply_extraction import finish
from memory.actions.model_requests import (
    Answer,
    InvalidAnswer,
    describe_images,
    limit_answer_time,
    request_answer,
)
from memory.actions.unfinished_extraction_facts import load_pending_facts, save_pending_facts
from memory.extraction import response_schema as schema
from memory.extraction.conversation import (
    ASSISTANT,
    USER,
    Message,
    fence_text,
    is_about_agent,
    render_transcript,
)
from memory.extraction.fact_resolution import (
    ResolvedFacts,
    SimilarMemory,
    find_identical_memory,
    number_memories,
    resolve_facts,
)
from memory.extraction.prompt_echo import repeats_prompt
from memory.extraction.prompts import prompt
from memory.extraction.response_schema import Fact, FactDecision, ParsedItems, RefusedItem
from memory.models import Extraction, MemoryEntry, MemorySettings, Viewer
from memory.retrieval.search import SearchRequest, search_memories

ANSWER_SECONDS = 180.0  # of all answers about one input: jobs end after 200 s
MAX_SIMILAR = 5  # memories that a fact is compared with
# Kinds that a fact may change: neither messages nor memories that represent others.
CHANGEABLE = ("fact", "preference", "skill", "pattern", "context", "project_state", "self_model")
# Flags of a text that instructs the model.
HOSTILE_FLAGS = frozenset({"instructions", "role_markup", "tool_call", "tag_characters"})
# Codes of a search that could not compare meanings.
NO_VECTOR_CODES = frozenset({"km_timeout", "km_circuit_open", "km_provider_error"})


def run_extraction(account_id: UUID, pk: UUID) -> None:
    """Run an extraction unless it is finished. Store an invalid answer and raise InvalidAnswer."""
    with acting(account_id):
        row = Extraction.objects.of(account_id).filter(pk=pk, finished_at=None).first()
        settings = MemorySettings.objects.get_or_default(account_id)
    if row is None:
        return
    try:
        with limit_answer_time(ANSWER_SECONDS):
            if pending := load_pending_facts(row):
                _store_facts(row, *pending)
            else:
                _RUNNERS[row.kind](row, settings)
    except InvalidAnswer as error:
        apply_extraction.record_failure(row, error)
        raise


def _extract_conversation(row: Extraction, settings: MemorySettings) -> None:
    messages = _load_messages(row)
    about_agent = is_about_agent(messages, row.agent_id)
    role = ASSISTANT if about_agent else USER
    if not any(message.role == role and message.text.strip() for message in messages):
        return _finish_without_facts(row, note=f"The {role} has no text.")
    categories = dict(settings.categories) or (
        schema.AGENT_CATEGORIES if about_agent else schema.USER_CATEGORIES
    )
    system = prompt(
        "facts_of_agent" if about_agent else "facts_of_user",
        today=_format_day(row),
        categories="\n".join(f"- {name}: {what}" for name, what in categories.items()),
        instructions=_format_instructions(settings),
    )
    transcript = render_transcript(messages)
    answer = request_answer(
        system,
        fence_text("conversation", transcript),
        lambda raw: schema.parse_items(raw, "facts", Fact),
        schema.build_facts_schema(list(categories)),
    )
    return _store_facts(row, _filter_facts(answer, system, transcript, categories), {})


def _extract_task(row: Extraction, settings: MemorySettings) -> None:
    if not settings.auto_store:
        note = "Automatic storing is off for this account (auto_store)."
        return _finish_without_facts(row, note=note)
    system = prompt(
        "worthwhile", today=_format_day(row), instructions=_format_instructions(settings)
    )
    text = "\n\n".join(
        fence_text(name, row.said[name]) for name in ("goal", "result", "log") if row.said[name]
    )
    answer = request_answer(
        system, text, schema.parse_task_assessment, schema.TASK_ASSESSMENT_SCHEMA
    )
    details = {name: answer.value.payload[name] for name in ("should_store", "reasoning")}
    if not details["should_store"]:
        return _finish_without_facts(row, **details)
    parsed = _filter_facts(answer, system, text, {})
    threshold = settings.store_threshold
    dropped = [
        {"item": n, "importance": fact.importance, "reason": f"importance below {threshold:g}"}
        for n, fact in parsed.items.items()
        if fact.importance < threshold
    ]
    items = {n: fact for n, fact in parsed.items.items() if fact.importance >= threshold}
    return _store_facts(row, replace(parsed, items=items), {**details, "dropped": dropped})


def _extract_procedure(row: Extraction, settings: MemorySettings) -> None:
    own_prompt = row.said.get("prompt", "")
    system = own_prompt or prompt("procedure", today=_format_day(row))
    transcript = render_transcript(_load_messages(row))
    text = fence_text("conversation", transcript)
    answer = request_answer(
        system,
        f"{text}\n\nWrite the record of the conversation above.",
        lambda raw: schema.parse_procedure(raw, numbered=not own_prompt),
    )
    if repeats_prompt(answer.value, system, transcript):
        raise InvalidAnswer("it repeats the prompt", answer.raw)
    finish(
        row,
        lambda locked: {"results": [apply_extraction.write_procedure(locked, answer.value)]},
        memories=apply_extraction.find_sources(row),
    )


def _rewrite_memory(row: Extraction, settings: MemorySettings) -> None:
    with acting(row.account_id):
        entry = MemoryEntry.objects.of(row.account_id).filter(pk=row.said["entry"]).first()
    if entry is None or entry.version != row.said["version"]:
        raise InvalidAnswer("someone changed or erased the memory; send the request again", "")
    system, instruction = prompt("rewrite", today=_format_day(row)), row.said["instruction"]
    memory = f"{fence_text('memory', entry.content)}\n\nImportance: {entry.importance:g}"
    text = f"{memory}\n\n{fence_text('instruction', instruction)}"
    answer = request_answer(
        system, text, lambda raw: schema.parse_one(raw, schema.Rewrite), schema.REWRITE_SCHEMA
    )
    trusted = (entry.content, instruction)
    if problem := _find_problem(answer.value.content, system, text, trusted):
        raise InvalidAnswer(f"it {problem}", answer.raw)
    finish(
        row,
        lambda locked: {"results": [apply_extraction.write_rewrite(locked, entry, answer.value)]},
        memories=[entry.pk],
    )


_RUNNERS: Mapping[str, Callable[[Extraction, MemorySettings], None]] = {
    Extraction.Kind.CONVERSATION: _extract_conversation,
    Extraction.Kind.TASK: _extract_task,
    Extraction.Kind.PROCEDURE: _extract_procedure,
    Extraction.Kind.REWRITE: _rewrite_memory,
}


def _finish_without_facts(row: Extraction, **details: Any) -> None:
    finish(row, lambda _locked: {"results": [], **details})


def _format_instructions(settings: MemorySettings) -> str:
    text = settings.instructions
    return f"\nThe organisation asks for this too:\n{text}\n" if text else ""


def _format_day(row: Extraction) -> str:
    return row.observed_at.strftime("%A, %Y-%m-%d")


def _load_messages(row: Extraction) -> list[Message]:
    return describe_images([Message(**each) for each in row.said["messages"]])


def _filter_facts(
    answer: Answer[ParsedItems[Fact]], system: str, source: str, categories: Mapping[str, str]
) -> ParsedItems[Fact]:
    """Refuse unusable facts. If none remains, raise InvalidAnswer, so that a person sees it."""
    accepted, refused = {}, []
    for item, fact in answer.value.items.items():
        problem = _find_problem(fact.text, system, source)
        if not problem and categories and fact.category not in categories:
            problem = "has none of the configured categories"
        if problem:
            refused.append(RefusedItem(item=item, reason=problem))
        else:
            accepted[item] = fact
    if refused and not accepted:
        reasons = dict.fromkeys(each.reason for each in refused)
        raise InvalidAnswer(f"it {' and '.join(reasons)}", answer.raw)
    return replace(answer.value, items=accepted, refused=[*answer.value.refused, *refused])


def _find_problem(text: str, system: str, source: str, trusted: Sequence[str] = ()) -> str:
    """Return why a text cannot be stored, or "". Flags of trusted texts are not a problem."""
    if repeats_prompt(text, system, source):
        return "repeats the prompt"
    trusted_flags = {flag for each in trusted for flag in detect_flags(each)}
    hostile = HOSTILE_FLAGS & set(detect_flags(text)) - trusted_flags
    return "contains instructions to the model" if hostile else ""


def _store_facts(row: Extraction, parsed: ParsedItems[Fact], details: Mapping[str, Any]) -> None:
    """Compare the facts with similar memories, let the model decide, and write the outcomes."""
    save_pending_facts(row, parsed, details)
    similar = {item: _find_similar(row, fact.text) for item, fact in parsed.items.items()}
    numbered = number_memories(similar)
    undecided = {
        item: fact
        for item, fact in parsed.items.items()
        if similar[item] and not find_identical_memory(fact, similar[item])
    }
    decided: ParsedItems[FactDecision] = ParsedItems(items={})
    if undecided:
        decided = _request_decisions(undecided, similar, numbered)
    decisions = list(decided.items.values())
    resolved = _refuse_unsafe_updates(resolve_facts(parsed.items, similar, numbered, decisions))
    refused = [asdict(each) for each in (*parsed.refused, *decided.refused, *resolved.refused)]
    finish(
        row,
        lambda locked: {
            "results": apply_extraction.write_outcomes(locked, resolved.outcomes),
            "refused": refused,
            **details,
        },
        memories=apply_extraction.find_affected(row, resolved.outcomes),
    )


def _refuse_unsafe_updates(resolved: ResolvedFacts) -> ResolvedFacts:
    """Refuse updates whose new text would not be accepted as a fact."""
    accepted, refused = [], list(resolved.refused)
    for outcome in resolved.outcomes:
        problem = ""
        if outcome.event == "UPDATE" and outcome.memory:
            trusted = (outcome.memory.text, outcome.fact.text)
            problem = _find_problem(outcome.text, prompt("decide"), "\n".join(trusted), trusted)
        if problem:
            refused.append(RefusedItem(item=outcome.item, reason=problem))
        else:
            accepted.append(outcome)
    return ResolvedFacts(outcomes=accepted, refused=refused)


def _find_similar(row: Extraction, text: str) -> list[SimilarMemory]:
    """Return similar memories that the owner can see. Raise ProviderError during an outage."""
    viewer = Viewer(
        user_id=row.user_id,
        agent_id=row.agent_id,
        app_id=row.app_id,
        run_id="" if row.user_id or row.agent_id else row.run_id,
        scope=row.scope or None,
    )
    query = SearchRequest(query=text, viewer=viewer, limit=MAX_SIMILAR, kinds=CHANGEABLE)
    results = search_memories(row.account_id, query)
    without_vector = any(each["code"] in NO_VECTOR_CODES for each in results.decisions)
    if without_vector and not fails_for_this_text_only(text):  # such a text is compared by words
        raise ProviderError("The embedding model is unavailable: similar memories are unknown.")
    return [
        SimilarMemory(id=entry.pk, text=entry.content, version=entry.version, pinned=entry.pinned)
        for entry in (hit.entry for hit in results.hits)
    ]


def _request_decisions(
    facts: Mapping[int, Fact],
    similar: Mapping[int, Sequence[SimilarMemory]],
    numbered: Sequence[SimilarMemory],
) -> ParsedItems[FactDecision]:
    numbers = {each.id: index for index, each in enumerate(numbered)}
    data = {
        "memories": [{"memory": index, "text": each.text} for index, each in enumerate(numbered)],
        "facts": [
            {"fact": item, "text": fact.text, "near": [numbers[each.id] for each in similar[item]]}
            for item, fact in facts.items()
        ],
    }
    text = fence_text("data", json.dumps(data, ensure_ascii=False, indent=1))
    return request_answer(
        prompt("decide"), text, schema.parse_decisions, schema.DECISIONS_SCHEMA
    ).value
