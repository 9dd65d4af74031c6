"""Resolution of extracted facts and a model's decisions into changes. Pure.

The model's influence is limited. A fact changes at most one memory, and only one that was found to
be similar to that fact, and that it contradicts or refines (see
`memory.extraction.supersession_checks`). A memory is superseded only by a fact that is stored, so
of two contradicting texts one remains, and repeating a text never removes anything.
"""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from kmapp.text.terms import extract_terms, normalise
from memory.extraction.response_schema import Fact, FactDecision, RefusedItem
from memory.extraction.supersession_checks import is_contradiction, is_retained, list_shared_terms

UNRELATED = "The fact neither contradicts nor refines the memory that the model named: both stay."


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarMemory:
    """A memory that is similar to some of the facts."""

    id: UUID
    text: str
    version: int
    pinned: bool = False  # by a person: only a person may change it


@dataclass(frozen=True, slots=True, kw_only=True)
class FactOutcome:
    """The outcome of one fact."""

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
    refused: Sequence[RefusedItem] = ()


def resolve_facts(
    facts: Mapping[int, Fact],
    similar: Mapping[int, Sequence[SimilarMemory]],
    numbered: Sequence[SimilarMemory],
    decisions: Sequence[FactDecision],
) -> ResolvedFacts:
    """Combine facts with decisions, which name a memory by its index in `numbered`."""
    first, refused = _first_decisions(facts, decisions)
    changed: set[UUID] = set()  # memories that facts have changed already
    identical_items: set[str] = set()  # texts that are stored already
    outcomes = []
    for item, fact in facts.items():
        text, candidates = normalize_for_comparison(fact.text), similar.get(item, ())
        identical = find_identical_memory(fact, candidates)
        outcome: FactOutcome | RefusedItem
        if identical or text in identical_items:
            reason = "It is already stored."
            outcome = FactOutcome(
                item=item, fact=fact, event="NONE", memory=identical, reason=reason
            )
        elif candidates:
            outcome = _apply_decision(item, fact, candidates, numbered, first.get(item), changed)
        else:
            reason = "No similar memory exists."
            outcome = FactOutcome(item=item, fact=fact, event="ADD", reason=reason)
        if isinstance(outcome, RefusedItem):
            refused.append(outcome)
            continue
        outcomes.append(outcome)
        if outcome.event != "NONE":
            identical_items.add(text)
        if outcome.memory and outcome.event in ("UPDATE", "DELETE"):
            changed.add(outcome.memory.id)
    return ResolvedFacts(outcomes=outcomes, refused=refused)


def _first_decisions(
    facts: Container[int], decisions: Sequence[FactDecision]
) -> tuple[dict[int, FactDecision], list[RefusedItem]]:
    """Return the first decision about each fact, and the refused ones."""
    first: dict[int, FactDecision] = {}
    refused = []
    for decision in decisions:
        if decision.fact not in facts or decision.fact in first:
            why = "is decided twice" if decision.fact in facts else "is not one of the given facts"
            refused.append(RefusedItem(item=decision.fact, reason=why))
        else:
            first[decision.fact] = decision
    return first, refused


def _apply_decision(
    item: int,
    fact: Fact,
    similar: Sequence[SimilarMemory],
    numbered: Sequence[SimilarMemory],
    decision: FactDecision | None,
    changed: Container[UUID],
) -> FactOutcome | RefusedItem:
    if decision is None:
        return RefusedItem(item=item, reason="was not decided")
    memory = None
    if decision.event != "ADD" and (decision.event != "NONE" or decision.memory is not None):
        if decision.memory is None or not 0 <= decision.memory < len(numbered):
            return RefusedItem(item=item, reason="names no memory it was shown")
        memory = numbered[decision.memory]
        if memory not in similar:
            return RefusedItem(item=item, reason="names a memory that is not near this fact")
    if memory and decision.event != "NONE" and memory.id in changed:
        # Another fact has changed that memory, so this fact is stored separately.
        return FactOutcome(item=item, fact=fact, event="ADD", reason=decision.reason)
    if memory and not _is_supported(fact, memory, decision, nearest=memory == similar[0]):
        # If the texts share a term, an edge shows the possible contradiction to people.
        return FactOutcome(
            item=item,
            fact=fact,
            event="ADD",
            memory=memory,
            contradicts=decision.event == "DELETE"
            and bool(list_shared_terms(fact.text, memory.text)),
            reason=UNRELATED,
        )
    return _decide(item, fact, memory, decision)


def _is_supported(
    fact: Fact, memory: SimilarMemory, decision: FactDecision, *, nearest: bool
) -> bool:
    """Return whether the texts show that the fact contradicts or refines the memory."""
    if decision.event == "NONE":
        return True
    if is_contradiction(fact.text, memory.text, nearest=nearest):
        return True
    text = (decision.text or fact.text).strip()
    return decision.event == "UPDATE" and is_retained(text, memory.text)


def _decide(
    item: int, fact: Fact, memory: SimilarMemory | None, decision: FactDecision
) -> FactOutcome | RefusedItem:
    event: str = decision.event
    text, is_contradiction = "", False
    if event == "NONE" or memory is None:
        event = event if event == "NONE" else "ADD"
    elif event == "DELETE":
        # A person pinned the memory: both stay, with an edge for the contradiction.
        event, is_contradiction = "ADD" if memory.pinned else "DELETE", True
    else:
        text = (decision.text or fact.text).strip()
        if not set(extract_terms(text)) & set(extract_terms(fact.text)):
            return RefusedItem(item=item, reason="the new text does not contain the fact")
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
        contradicts=is_contradiction,
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
