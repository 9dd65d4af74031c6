"""From facts and a model's decisions to what is done. Pure.

The model may say anything; what it can bring about is little. A fact touches at most one memory,
and only one that was found near that very fact. Whatever replaces a memory is remembered, so a
contradiction leaves one of the two; and saying the same thing again never takes anything away.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from kmapp.text.terms import normalise, terms
from memory.extraction.response_schema import Decision, Fact, Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarMemory:
    """A memory that was found near some of the facts."""

    id: UUID
    text: str
    version: int
    fixed: bool = False  # pinned by a person: nothing changes it without one


@dataclass(frozen=True, slots=True, kw_only=True)
class FactOutcome:
    """What is done about one fact."""

    item: int
    fact: Fact
    event: str  # ADD, UPDATE, DELETE (the fact takes the memory's place) or NONE
    similar: SimilarMemory | None = None
    text: str = ""  # of the memory as it reads from now on
    contradicts: bool = False  # a memory that stays
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedFacts:
    operations: Sequence[FactOutcome]
    refused: Sequence[Refusal] = ()


@dataclass(slots=True)
class _UsedTargets:
    """Memories that a fact has changed already, and texts that are there by now."""

    memories: set[UUID] = field(default_factory=set)
    texts: set[str] = field(default_factory=set)


def resolve_facts(
    facts: Mapping[int, Fact],
    similar: Mapping[int, Sequence[SimilarMemory]],
    numbered: Sequence[SimilarMemory],
    decisions: Sequence[Decision],
) -> ResolvedFacts:
    """Bring facts and decisions together. `numbered` is what the model knows memories by."""
    first: dict[int, Decision] = {}
    refused = []
    for decision in decisions:
        if decision.fact not in facts or decision.fact in first:
            why = "is decided twice" if decision.fact in facts else "is no fact it was given"
            refused.append(Refusal(item=decision.fact, reason=why))
        else:
            first[decision.fact] = decision
    used, operations = _UsedTargets(), []
    for item, fact in facts.items():
        outcome = _settle_one(item, fact, similar.get(item, ()), numbered, first.get(item), used)
        if isinstance(outcome, Refusal):
            refused.append(outcome)
        else:
            operations.append(outcome)
    return ResolvedFacts(operations=operations, refused=refused)


def _settle_one(
    item: int,
    fact: Fact,
    similar: Sequence[SimilarMemory],
    numbered: Sequence[SimilarMemory],
    decision: Decision | None,
    used: _UsedTargets,
) -> FactOutcome | Refusal:
    normalized_text = normalize_for_comparison(fact.text)
    twin = find_identical_memory(fact, similar)
    if twin or normalized_text in used.texts:
        return FactOutcome(
            item=item, fact=fact, event="NONE", similar=twin, reason="It is known already."
        )
    if not similar:
        operation: FactOutcome | Refusal = FactOutcome(
            item=item, fact=fact, event="ADD", reason="Nothing like it was known."
        )
    else:
        operation = _decided(item, fact, _named(decision, similar, numbered), decision, used)
    if isinstance(operation, FactOutcome) and operation.event != "NONE":
        used.texts.add(normalized_text)
    return operation


def _decided(
    item: int,
    fact: Fact,
    target: SimilarMemory | str | None,
    decision: Decision | None,
    used: _UsedTargets,
) -> FactOutcome | Refusal:
    if decision is None or isinstance(target, str):
        return Refusal(item=item, reason=target if isinstance(target, str) else "was not decided")
    if target and decision.event != "NONE" and target.id in used.memories:
        # Another fact changed that memory: this one stands beside it.
        return FactOutcome(item=item, fact=fact, event="ADD", reason=decision.reason)
    operation = _operation(item, fact, target, decision)
    if isinstance(operation, FactOutcome) and operation.event in ("UPDATE", "DELETE") and target:
        used.memories.add(target.id)
    return operation


def _named(
    decision: Decision | None, similar: Sequence[SimilarMemory], numbered: Sequence[SimilarMemory]
) -> SimilarMemory | str | None:
    """Return the memory that a decision names, or the problem with it."""
    if decision is None:
        return None
    if decision.event == "ADD" or (decision.event == "NONE" and decision.memory is None):
        return None
    if decision.memory is None or not 0 <= decision.memory < len(numbered):
        return "names no memory it was shown"
    target = numbered[decision.memory]
    if target not in similar:
        return "names a memory that is not near this fact"
    return target


def _operation(
    item: int, fact: Fact, target: SimilarMemory | None, decision: Decision
) -> FactOutcome | Refusal:
    why = decision.reason
    if decision.event == "NONE" or target is None:
        event: str = decision.event if decision.event == "NONE" else "ADD"
        return FactOutcome(item=item, fact=fact, event=event, similar=target, reason=why)
    if decision.event == "DELETE":
        # A person pinned it: both stay, and it is said that they do not agree.
        event = "ADD" if target.fixed else "DELETE"
        return FactOutcome(
            item=item, fact=fact, event=event, similar=target, contradicts=True, reason=why
        )
    text = (decision.text or fact.text).strip()
    if not set(terms(text)) & set(terms(fact.text)):
        return Refusal(item=item, reason="the new text does not say what the fact says")
    if normalize_for_comparison(text) == normalize_for_comparison(target.text):
        return FactOutcome(item=item, fact=fact, event="NONE", similar=target, reason=why)
    event = "ADD" if target.fixed else "UPDATE"
    return FactOutcome(item=item, fact=fact, event=event, similar=target, text=text, reason=why)


def find_identical_memory(fact: Fact, similar: Sequence[SimilarMemory]) -> SimilarMemory | None:
    """Return a memory with identical text; the model is not asked about it."""
    normalized_text = normalize_for_comparison(fact.text)
    return next(
        (each for each in similar if normalize_for_comparison(each.text) == normalized_text), None
    )


def normalize_for_comparison(text: str) -> str:
    """Equal for texts that differ in spacing, case or the last full stop only."""
    return " ".join(normalise(text).casefold().split()).rstrip(".。!！")


def number_memories(similar: Mapping[int, Sequence[SimilarMemory]]) -> list[SimilarMemory]:
    """Every memory once. Its place is the number by which the model knows it."""
    return list(dict.fromkeys(_all(similar)))


def _all(similar: Mapping[int, Sequence[SimilarMemory]]) -> Iterator[SimilarMemory]:
    for item in sorted(similar):
        yield from similar[item]
