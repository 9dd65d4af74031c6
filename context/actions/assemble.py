"""One model call, in four stages: collect, retrieve, assemble, record.

Each stage is a function of its own, and a `Pipeline` names the four: another retrieval, or a
record somewhere else, takes the place of ours without the others noticing.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any
from uuid import UUID

from context.actions.prepare_messages import known_results
from context.actions.record_call import record
from context.actions.summaries import known_summary
from context.archives.placeholder_swap import place, settled, standing_for, tool_of
from context.assembly.budget import DoesNotFit, Draft, fitted, key_of
from context.assembly.build_requests import wanted_of
from context.assembly.calls import ANTHROPIC, OPENAI, Material, Section
from context.assembly.fence import nonce_for
from context.assembly.messages import (
    SYSTEM,
    Message,
    calls,
    is_anthropic,
    without_orphans,
    words_of,
)
from context.assembly.policies import Policy
from context.assembly.retrieval_requests import Wanted
from context.assembly.sources import QUESTION, Retrieved, retrieve
from context.assembly.stages import Assembled, Collected, Recorded, Request
from context.assembly.token_counts import of_message, of_messages
from context.assembly.tool_offer import offered
from context.assembly.variant_assignment import assigned
from context.models import ContextSettings
from context.models.archive_input import NewResult
from context.reports.call_report import reported
from context.reports.stored_inputs import body_of
from kmapp.accounts.acting import acting
from kmapp.errors import TooLarge
from kmapp.search.variants import DEFAULT, VARIANTS, Variant
from kmapp.text import tokens

LEAST_KEPT = 1_000  # characters of a tool result that is kept when it is cleared
SPARE = 2_000  # tokens that rules may add


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A call that was assembled and recorded."""

    assembled: Assembled
    recorded: Recorded


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """The four stages."""

    collect: Callable[[Request], Collected]
    retrieve: Callable[[Wanted], Retrieved]
    assemble: Callable[[Request, Collected, Retrieved], Assembled]
    record: Callable[[Request, Assembled], Recorded]

    def run(self, request: Request) -> Done:
        """All four, in order. Opens `acting` itself; raises TooLarge when it cannot fit."""
        started = monotonic()
        collected = self.collect(request)
        after_collecting = monotonic()
        found = self.retrieve(wanted_of(request, collected))
        after_retrieving = monotonic()
        assembled = self.assemble(request, collected, found)
        timings = {
            "collect": _ms(after_collecting - started),
            "retrieve": _ms(after_retrieving - after_collecting),
            "assemble": _ms(monotonic() - after_retrieving),
            "sources": dict(found.timings),
        }
        assembled = replace(assembled, report={**assembled.report, "timings_ms": timings})
        return Done(assembled=assembled, recorded=self.record(request, assembled))


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 2)


# --- Collect --------------------------------------------------------------------------------------


def collect(request: Request) -> Collected:
    """The conversation as a model can be given it, and what is known of it already."""
    leading, rest = _split(request.messages)
    messages = without_orphans(rest)
    bodies = [body_of(request.account_id, message) for message in messages]
    sizes = [of_message(message) for message in messages]
    with acting(request.account_id):
        settings = ContextSettings.objects.here(request.account_id)
        policy = settings.assembly().with_changes(request.policy)
        tight = _is_tight(request, of_messages(leading) + sum(sizes), policy)
        older = _older(request, settings, messages, policy) if tight else _Older()
        language = request.language or settings.language
        summary = known_summary(request, bodies, language) if tight else None
    decisions: list[Mapping[str, Any]] = [
        {"action": "source_not_allowed", "source": name} for name in request.refused_sources
    ]
    if len(messages) < len(rest):
        decisions.append({"action": "drop_orphans", "messages": len(rest) - len(messages)})
    material = Material(
        messages=messages,
        sizes=sizes,
        window=request.window,
        reserve=request.reserve,
        sections=[*_instructions(leading), *request.sections],
        tools=request.tools,
        groups=request.groups,
        required_tools=request.required_tools,
        profile=request.profile,
        provider=request.provider or _provider(request),
        language=language,
        pointers=older.pointers,
        compacted=summary,
    )
    variant, variant_by = _variant(request, settings)
    return Collected(
        settings=settings,
        policy=policy,
        variant=variant,
        variant_by=variant_by,
        material=material,
        query=(request.query or _last_words(messages))[:QUESTION],
        decisions=decisions,
        bodies=bodies,
        keepable=older.keepable,
    )


def _variant(request: Request, settings: ContextSettings) -> tuple[Variant, str]:
    """Whoever names one gets it; else the conversation's own; else the usual one."""
    if request.variant:
        return request.variant, "asked"
    name = assigned(request.account_id, request.within.conversation_id, settings.variants)
    return (VARIANTS[name], "assigned") if name else (DEFAULT, "default")


def _instructions(leading: Sequence[Message]) -> list[Section]:
    texts = [words_of(message) for message in leading]
    return [Section(name="instructions", text=text) for text in texts if text]


def _is_tight(request: Request, size: int, policy: Policy) -> bool:
    """Whether more than what is retrieved may have to give way."""
    tools = offered(request.tools, request.groups, strict=policy.strict_tools)
    size += sum(tool.tokens for tool in tools)
    size += sum(tokens.count(section.text) for section in request.sections)
    return size + SPARE > request.window - request.reserve


def _split(messages: Sequence[Message]) -> tuple[list[Message], list[Message]]:
    """The system's words before the conversation, and the conversation."""
    first = next(
        (at for at, message in enumerate(messages) if message["role"] not in SYSTEM), len(messages)
    )
    return list(messages[:first]), list(messages[first:])


def _provider(request: Request) -> str:
    spelt = is_anthropic(request.messages) or any("input_schema" in each for each in request.tools)
    return ANTHROPIC if spelt else OPENAI


def _last_words(messages: Sequence[Message]) -> str:
    said = (words_of(each).strip() for each in reversed(messages) if each["role"] == "user")
    return next((words for words in said if words), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Older:
    """Old tool results by their places: where they can be had again, and how to keep them."""

    pointers: Mapping[str, UUID] = field(default_factory=dict)
    keepable: Mapping[str, NewResult] = field(default_factory=dict)


def _older(
    request: Request, settings: ContextSettings, messages: Sequence[Message], policy: Policy
) -> _Older:
    name, called, within = tool_of(messages), calls(messages), request.within
    found = [
        slot
        for slot in settled(messages, policy.protected_turns)
        if len(slot.text) >= LEAST_KEPT and standing_for(slot.text) is None
    ]
    known = known_results(request.account_id, within, found)
    keepable = {
        key_of(slot): NewResult(
            text=slot.text,
            tool_name=name(slot)[:100],
            tool_input=called[slot.call_id].input if slot.call_id in called else None,
            tool_call_id=slot.call_id[:200],
            conversation_id=within.conversation_id,
            thread_id=within.thread_id,
            user_id=within.user_id,
            agent_id=request.agent_id,
            language=request.language or settings.language,
        )
        for slot in found
        if place(slot) not in known
    }
    kept = {key_of(slot): known[place(slot)].pk for slot in found if place(slot) in known}
    fresh = {key: draft.key_in(request.account_id) for key, draft in keepable.items()}
    return _Older(pointers={**kept, **fresh}, keepable=keepable)


# --- Assemble -------------------------------------------------------------------------------------


def assemble(request: Request, collected: Collected, found: Retrieved) -> Assembled:
    """Fit everything into the budget."""
    material = replace(
        collected.material,
        snippets=found.snippets,
        bound=found.bound,
        nonce=nonce_for([each.text for each in found.snippets]),
    )
    draft = fit(material, collected.policy)
    before = [*collected.decisions, *found.decisions]
    report = reported(draft)
    report["decisions"] = [*before, *report["decisions"]]
    report |= {
        **collected.variant.versions(),
        "variant_by": collected.variant_by,
        "model": request.model or None,
        "cache": {"query_vector": "hit" if found.cached else "miss"},
        "policy": collected.policy.body(),
    }
    return Assembled(collected=replace(collected, material=material), draft=draft, report=report)


def fit(material: Material, policy: Policy) -> Draft:
    try:
        return fitted(material, policy)
    except DoesNotFit as error:
        raise TooLarge(
            f"What may not be left out takes {error.needed:,} tokens; {error.budget:,} are there. "
            "Give a larger window, fewer protected turns, or a shorter last message.",
            code="over_budget",
            details={
                "needed_tokens": error.needed,
                "budget_tokens": error.budget,
                "sections": error.sections,
            },
        ) from error


PIPELINE = Pipeline(collect=collect, retrieve=retrieve, assemble=assemble, record=record)
