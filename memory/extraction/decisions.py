"""Resolution of extracted facts and a model's decisions into changes. Pure.

The model's influence is limited. A fact changes at most one memory, and only one that was found to
be similar to that fact. A memory is superseded only by a fact that is stored, so of two
contradicting texts one remains, and repeating a text never removes anything.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from kmapp.text.terms import normalise, terms
from memory.extraction.response_schema import Decision, Fact, Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarMemory:
    """A memory that is similar to some of the facts."""

    id: UUID
    text: str
    version: int
    pinned: bool = False  # by a person: only a person may change it


@dataclass(frozen=True, slots=True, kw_only=True)
class FactOutcome:
    """What happens to one fact."""

    item: int
    fact: Fact
    event: str  # ADD, UPDATE, DELETE (the fact supersedes the memory) or NONE
    memory: SimilarMemory | None = None
    text: str = ""  # new text of the memory
    contradicts: bool = False  # the fact contradicts the memory
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedFacts:
    outcomes: Sequence[FactOutcome]
    refused: Sequence[Refusal] = ()


@dataclass(slots=True)
class _Used:
    """Memories that facts have changed already, and texts that are stored already."""

    memories: set[UUID] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)


def resolve_facts(
    facts: Mapping[int, Fact],
    similar: Mapping[int, Sequence[SimilarMemory]],
    numbered: Sequence[SimilarMemory],
    decisions: Sequence[Decision],
) -> ResolvedFacts:
    """Combine facts with decisions, which name a memory by its index in `numbered`."""
    first: dict[int, Decision] = {}
    refused = []
    for decision in decisions:
        if decision.fact not in facts or decision.fact in first:
            why = "is decided twice" if decision.fact in facts else "is no fact it was given"
            refused.append(Refusal(item=decision.fact, reason=why))
        else:
            first[decision.fact] = decision
    used, outcomes = _Used(), []
    for item, fact in facts.items():
        outcome = _resolve(item, fact, similar.get(item, ()), numbered, first.get(item), used)
        if isinstance(outcome, Refusal):
            refused.append(outcome)
        else:
            outcomes.append(outcome)
    return ResolvedFacts(outcomes=outcomes, refused=refused)


def _resolve(
    item: int,
    fact: Fact,
    similar: Sequence[SimilarMemory],
    numbered: Sequence[SimilarMemory],
    decision: Decision | None,
    used: _Used,
) -> FactOutcome | Refusal:
    text, identical = normalize_for_comparison(fact.text), find_identical_memory(fact, similar)
    if identical or text in used.texts:
        reason = "It is known already."
        return FactOutcome(item=item, fact=fact, event="NONE", memory=identical, reason=reason)
    outcome: FactOutcome | Refusal
    if similar:
        memory = _find_named_memory(decision, similar, numbered)
        outcome = _apply_decision(item, fact, memory, decision, used)
    else:
        reason = "Nothing like it was known."
        outcome = FactOutcome(item=item, fact=fact, event="ADD", reason=reason)
    if isinstance(outcome, FactOutcome) and outcome.event != "NONE":
        used.texts.add(text)
    return outcome


def _find_named_memory(
    decision: Decision | None, similar: Sequence[SimilarMemory], numbered: Sequence[SimilarMemory]
) -> SimilarMemory | str | None:
    """Return the memory that a decision names, or what is wrong with it."""
    if decision is None:
        return None
    if decision.event == "ADD" or (decision.event == "NONE" and decision.memory is None):
        return None
    if decision.memory is None or not 0 <= decision.memory < len(numbered):
        return "names no memory it was shown"
    memory = numbered[decision.memory]
    return memory if memory in similar else "names a memory that is not near this fact"


def _apply_decision(
    item: int,
    fact: Fact,
    memory: SimilarMemory | str | None,
    decision: Decision | None,
    used: _Used,
) -> FactOutcome | Refusal:
    if decision is None or isinstance(memory, str):
        reason = memory if isinstance(memory, str) else "was not decided"
        return Refusal(item=item, reason=reason)
    if memory and decision.event != "NONE" and memory.id in used.memories:
        # Another fact has changed that memory, so this fact is stored separately.
        return FactOutcome(item=item, fact=fact, event="ADD", reason=decision.reason)
    outcome = _decide(item, fact, memory, decision)
    if isinstance(outcome, FactOutcome) and outcome.event in ("UPDATE", "DELETE") and memory:
        used.memories.add(memory.id)
    return outcome


def _decide(
    item: int, fact: Fact, memory: SimilarMemory | None, decision: Decision
) -> FactOutcome | Refusal:
    event: str = decision.event
    text, contradicts = "", False
    if event == "NONE" or memory is None:
        event = event if event == "NONE" else "ADD"
    elif event == "DELETE":
        # A person pinned the memory: both stay, with an edge for the contradiction.
        event, contradicts = "ADD" if memory.pinned else "DELETE", True
    else:
        text = (decision.text or fact.text).strip()
        if not set(terms(text)) & set(terms(fact.text)):
            return Refusal(item=item, reason="the new text does not say what the fact says")
        if normalize_for_comparison(text) == normalize_for_comparison(memory.text):
            event, text = "NONE", ""
        else:
            event = "ADD" if memory.pinned else "UPDATE"
    return FactOutcome(
        item=item,
        fact=fact,
        event=event,
        memory=memory,
        text=text,
        contradicts=contradicts,
        reason=decision.reason,
    )


def find_identical_memory(fact: Fact, similar: Sequence[SimilarMemory]) -> SimilarMemory | None:
    """Return the memory with the same text: no model needs to decide about it."""
    text = normalize_for_comparison(fact.text)
    return next((each for each in similar if normalize_for_comparison(each.text) == text), None)


def normalize_for_comparison(text: str) -> str:
    """Return an equal result for texts that differ in spacing, case or the last full stop only."""
    return " ".join(normalise(text).casefold().split()).rstrip(".。!！")


def number_memories(similar: Mapping[int, Sequence[SimilarMemory]]) -> list[SimilarMemory]:
    """Return every memory once. The model names a memory by its index in this list."""
    return list(dict.fromkeys(memory for item in sorted(similar) for memory in similar[item]))
