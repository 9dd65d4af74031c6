"""What a worker does with what was handed over: read it, ask the model, remember what comes of it.

Nothing is written before the last answer is understood, and then all of it in one commit.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.prompt_injection import detect_flags
from kmapp.providers import chat
from kmapp.providers.errors import ProviderError
from memory.actions.apply_extraction import remember
from memory.actions.finish_extraction import fail, finish
from memory.actions.model_requests import Answer, InvalidAnswer, describe_image, request_answer
from memory.actions.model_rewrites import remember_procedure, rewrite
from memory.extraction.conversation import (
    ASSISTANT,
    USER,
    Message,
    fence_text,
    is_about_agent,
    render_transcript,
)
from memory.extraction.decisions import (
    ResolvedFacts,
    SimilarMemory,
    find_identical_memory,
    number_memories,
    resolve_facts,
)
from memory.extraction.procedures import parse_procedure
from memory.extraction.prompt_echo import repeats_prompt
from memory.extraction.prompts import prompt
from memory.extraction.response_schema import (
    AGENT_CATEGORIES,
    DECISIONS_SCHEMA,
    REWRITE_SCHEMA,
    TASK_ASSESSMENT_SCHEMA,
    USER_CATEGORIES,
    Decision,
    Fact,
    InvalidResponse,
    ParsedItems,
    Refusal,
    Rewrite,
    facts_schema,
    parse_items,
    parse_one,
    parse_task_assessment,
)
from memory.extraction.settings import ExtractionSettings, load_extraction_settings
from memory.models import Extraction, MemoryEntry, Viewer
from memory.retrieval.search import Search, search

NEAREST = 5  # memories that a fact is compared with
# What may be changed by a conversation: not what was said, nor what stands for something else.
CHANGEABLE = ("fact", "preference", "skill", "pattern", "context", "project_state", "self_model")
# Advice about a text that speaks to the model instead of saying what is so.
HOSTILE = frozenset({"instructions", "role_markup", "tool_call", "tag_characters"})


def run_extraction(account_id: UUID, pk: UUID) -> None:
    """Do what was asked for, unless it is done. BadAnswer: nothing changed, and it is kept."""
    with acting(account_id):
        row = Extraction.objects.of(account_id).filter(pk=pk, finished_at=None).first()
        options = load_extraction_settings(account_id)
    if row is None:
        return
    try:
        _READERS[row.kind](row, options)
    except InvalidAnswer as error:
        with acting(account_id):
            fail(account_id, pk, error)
        raise


def _conversation(row: Extraction, options: ExtractionSettings) -> None:
    messages = [_in_words(Message.of(stored)) for stored in row.said["messages"]]
    agents = is_about_agent(messages, row.agent_id)
    role = ASSISTANT if agents else USER
    if not any(message.role == role and message.text.strip() for message in messages):
        return _done(row, [], {"note": f"The {role} said nothing."})
    categories = dict(options.categories) or (AGENT_CATEGORIES if agents else USER_CATEGORIES)
    system = prompt(
        "facts_of_agent" if agents else "facts_of_user",
        today=_day(row),
        categories="\n".join(f"- {name}: {what}" for name, what in categories.items()),
        instructions=options.prompt_text,
    )
    input_text = render_transcript(messages)
    answer = request_answer(
        system,
        fence_text("conversation", input_text),
        lambda raw: parse_items(raw, "facts", Fact),
        facts_schema(list(categories)),
    )
    stored = _trustworthy(answer, system, input_text, categories)
    return _compare(row, stored, {})


def _task(row: Extraction, options: ExtractionSettings) -> None:
    if not options.auto_store:
        return _done(row, [], {"note": "The account does not store by itself (auto_store)."})
    system = prompt("worthwhile", today=_day(row), instructions=options.prompt_text)
    input_text = "\n\n".join(
        fence_text(name, row.said[name]) for name in ("goal", "result", "log") if row.said[name]
    )
    answer = request_answer(system, input_text, parse_task_assessment, TASK_ASSESSMENT_SCHEMA)
    whole = answer.read.whole
    details = {"should_store": whole["should_store"], "reasoning": whole["reasoning"]}
    if not whole["should_store"]:
        return _done(row, [], details)
    stored = _trustworthy(answer, system, input_text, {})
    items = stored.items.items()
    small = {n: fact for n, fact in items if fact.importance < options.store_threshold}
    least = f"importance below {options.store_threshold:g}"
    dropped = [
        {"item": n, "importance": fact.importance, "reason": least} for n, fact in small.items()
    ]
    stored = replace(stored, items={n: f for n, f in items if n not in small})
    return _compare(row, stored, {**details, "dropped": dropped})


def _procedure(row: Extraction, options: ExtractionSettings) -> None:
    messages = [_in_words(Message.of(stored)) for stored in row.said["messages"]]
    own = row.said.get("prompt", "")
    system = own or prompt("procedure", today=_day(row))
    input_text = render_transcript(messages)
    prompt_text = (
        f"{fence_text('conversation', input_text)}\n\nWrite the record of the conversation above."
    )
    answer = request_answer(system, prompt_text, lambda raw: parse_procedure(raw, numbered=not own))
    if repeats_prompt(answer.read, system, input_text):
        raise InvalidAnswer("it repeats the prompt", answer.raw)
    with acting(row.account_id):
        remember_procedure(row, answer.read)


def _rewrite(row: Extraction, options: ExtractionSettings) -> None:
    with acting(row.account_id):
        entry = MemoryEntry.objects.of(row.account_id).filter(pk=row.said["entry"]).first()
    if entry is None or entry.version != row.said["version"]:
        raise InvalidAnswer("somebody changed or erased the memory meanwhile: ask again", "")
    system = prompt("rewrite", today=_day(row))
    memory, instruction = entry.content, fence_text("instruction", row.said["instruction"])
    importance = f"Importance: {entry.importance:g}"
    input_text = "\n\n".join((fence_text("memory", memory), importance, instruction))
    answer = request_answer(system, input_text, lambda raw: parse_one(raw, Rewrite), REWRITE_SCHEMA)
    earlier_texts = (entry.content, row.said["instruction"])
    if wrong := _wrong(answer.read.content, system, input_text, earlier_texts):
        raise InvalidAnswer(f"it {wrong}", answer.raw)
    with acting(row.account_id):
        rewrite(row, entry, answer.read)


_READERS: Mapping[str, Callable[[Extraction, ExtractionSettings], None]] = {
    Extraction.Kind.CONVERSATION: _conversation,
    Extraction.Kind.TASK: _task,
    Extraction.Kind.PROCEDURE: _procedure,
    Extraction.Kind.REWRITE: _rewrite,
}


def _done(row: Extraction, results: Sequence[Any], details: Mapping[str, Any]) -> None:
    with acting(row.account_id):
        finish(row.account_id, row.pk, {"results": list(results), **details})


def _day(row: Extraction) -> str:
    return row.observed_at.strftime("%A, %Y-%m-%d")


def _in_words(message: Message) -> Message:
    """Without pictures: each is described by a model that sees."""
    if not message.images:
        return message
    if not chat.can_see():
        raise InvalidAnswer("there is no model that can see pictures any more", "")
    seen = [f"[picture: {describe_image(image)}]" for image in message.images]
    return replace(message, text="\n".join([message.text, *seen]).strip(), images=())


def _trustworthy(
    answer: Answer[ParsedItems[Fact]], system: str, input_text: str, categories: Mapping[str, str]
) -> ParsedItems[Fact]:
    """Without the facts that are none. An answer of nothing else is no answer: a person sees it."""
    stored, refused = {}, []
    for item, fact in answer.read.items.items():
        wrong = _wrong(fact.text, system, input_text)
        if not wrong and categories and fact.category not in categories:
            wrong = "names no category it was given"
        if wrong:
            refused.append(Refusal(item=item, reason=wrong))
        else:
            stored[item] = fact
    if refused and not stored:
        reasons = dict.fromkeys(each.reason for each in refused)
        raise InvalidAnswer(f"it {' and '.join(reasons)}", answer.raw)
    return replace(answer.read, items=stored, refused=[*answer.read.refused, *refused])


def _wrong(text: str, system: str, input_text: str, earlier_texts: Sequence[str] = ()) -> str:
    """Why a text is not remembered; empty if it may be. What was known before is no news."""
    if repeats_prompt(text, system, input_text):
        return "repeats the prompt"
    before = {flag for each in earlier_texts for flag in detect_flags(each)}
    return "speaks to the model" if HOSTILE & set(detect_flags(text)) - before else ""


def _compare(row: Extraction, read: ParsedItems[Fact], details: Mapping[str, Any]) -> None:
    """Compare facts with similar memories, request decisions, and apply them."""
    similar = {item: _find_similar(row, fact.text) for item, fact in read.items.items()}
    numbered = number_memories(similar)
    decided: ParsedItems[Decision] = ParsedItems(items={})
    open_to_question = {
        item: fact
        for item, fact in read.items.items()
        if similar[item] and not find_identical_memory(fact, similar[item])
    }
    if open_to_question:
        decided = _decisions(open_to_question, similar, numbered)
    outcome = _sifted(resolve_facts(read.items, similar, numbered, list(decided.items.values())))
    refused = [*read.refused, *decided.refused, *outcome.refused]
    with acting(row.account_id):
        refusals = [_serialize_refusal(each) for each in refused]
        remember(row, outcome.operations, refusals, details)


def _sifted(outcome: ResolvedFacts) -> ResolvedFacts:
    """Without the changes whose new text is no better than a fact may be: the memory stays."""
    stored, refused = [], list(outcome.refused)
    for operation in outcome.operations:
        wrong = ""
        if operation.event == "UPDATE" and operation.similar:
            earlier_texts = (operation.similar.text, operation.fact.text)
            wrong = _wrong(
                operation.text, prompt("decide"), "\n".join(earlier_texts), earlier_texts
            )
        if wrong:
            refused.append(Refusal(item=operation.item, reason=wrong))
        else:
            stored.append(operation)
    return ResolvedFacts(operations=stored, refused=refused)


def _serialize_refusal(refusal: Refusal) -> dict[str, Any]:
    return {"item": refusal.item, "reason": refusal.reason}


def _find_similar(row: Extraction, text: str) -> list[SimilarMemory]:
    """Return similar memories of the fact's audience, which needs the query's vector."""
    alone = not (row.user_id or row.agent_id)
    viewer = Viewer(
        user_id=row.user_id,
        agent_id=row.agent_id,
        app_id=row.app_id,
        run_id=row.run_id if alone else "",
        scope=row.scope or None,
    )
    matches = search(
        row.account_id, Search(query=text, viewer=viewer, limit=NEAREST, kinds=CHANGEABLE)
    )
    if any(decision["code"] in BLIND for decision in matches.decisions):
        raise ProviderError("The embedder is away: what is known already cannot be found.")
    entries = [hit.entry for hit in matches.hits]
    return [
        SimilarMemory(id=entry.pk, text=entry.content, version=entry.version, fixed=entry.pinned)
        for entry in entries
    ]


BLIND = frozenset({"km_timeout", "km_circuit_open", "km_provider_error"})


def _decisions(
    facts: Mapping[int, Fact],
    similar: Mapping[int, Sequence[SimilarMemory]],
    numbered: Sequence[SimilarMemory],
) -> ParsedItems[Decision]:
    number = {each.id: place for place, each in enumerate(numbered)}
    prompt_text = {
        "memories": [{"memory": place, "text": each.text} for place, each in enumerate(numbered)],
        "facts": [
            {"fact": item, "text": fact.text, "near": [number[each.id] for each in similar[item]]}
            for item, fact in facts.items()
        ],
    }
    input_text = fence_text("data", json.dumps(prompt_text, ensure_ascii=False, indent=1))
    return request_answer(prompt("decide"), input_text, _read_decisions, DECISIONS_SCHEMA).read


def _read_decisions(raw: str) -> ParsedItems[Decision]:
    read = parse_items(raw, "decisions", Decision)
    if not read.items:  # what was said would be lost
        raise InvalidResponse("it decides nothing")
    return read
