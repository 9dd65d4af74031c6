"""Prompt blocks of memories: of the conversation and in general."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.search.calibration import CONFIDENT
from kmapp.search.queries import Meaning
from kmapp.search.query_vector import meaning_of
from kmapp.text import tokens
from memory.models import MemoryEntry, MemorySettings
from memory.models.settings import MAX_INJECTED
from memory.retrieval.search import Hit, Search, answer
from memory.retrieval.text_budget import BlockEntry, block

OFF = {"code": "km_memory_off", "message": "The account's policy: agents do not use memory."}


@dataclass(frozen=True, slots=True, kw_only=True)
class Injected:
    """The prompt block, its memories, and the minimum score."""

    text: str
    hits: Sequence[Hit]
    threshold: float
    tokens: int
    decisions: Sequence[Mapping[str, Any]]

    @property
    def confidence(self) -> float:
        """Return the probability that any of the memories is relevant."""
        return max((hit.confidence for hit in self.hits), default=0.0)

    @property
    def has_relevant(self) -> bool:
        return self.confidence >= CONFIDENT


def inject(
    account_id: UUID,
    request: Search,
    *,
    most: int | None = None,
    most_tokens: int | None = None,
    least: float | None = None,
) -> Injected:
    """Return a block, half of it from the run; each half may fill space that the other leaves.

    The defaults of the limits are those of the account's policy; with `most_tokens` alone, as many
    memories as fit.
    """
    with acting(account_id):
        policy = MemorySettings.objects.get_or_default(account_id)
    threshold = policy.min_score if least is None else least
    if not policy.memory_enabled:
        return Injected(text="", hits=[], threshold=threshold, tokens=0, decisions=[OFF])
    decisions: list[Mapping[str, Any]] = []
    meaning = meaning_of(account_id, request.query, decisions)
    limit = most or (MAX_INJECTED if most_tokens else policy.inject_max_memories)
    hits = both_halves(account_id, replace(request, limit=limit, min_score=threshold), meaning)
    built = block(
        [_block_entry(hit.entry) for hit in hits],
        query=request.query,
        most_tokens=most_tokens,
        count=tokens.count,
    )
    return Injected(
        text=built.text,
        hits=[hits[place] for place in built.places],
        threshold=threshold,
        tokens=built.tokens,
        decisions=decisions,
    )


def _block_entry(entry: MemoryEntry) -> BlockEntry:
    speaker = entry.slots.get("speaker")
    is_named = not isinstance(speaker, str) or entry.content.startswith(f"{speaker}:")
    return BlockEntry(
        text=entry.content if is_named else f"{speaker}: {entry.content}",
        date=entry.observed_at,
        run=entry.run_id,
        position=entry.position,
    )


def both_halves(account_id: UUID, request: Search, meaning: Meaning | None) -> list[Hit]:
    """Return the memories for a block, given the query's vector."""
    run = request.viewer.run_id
    if not run:
        return answer(account_id, request, meaning)
    here = answer(account_id, replace(request, in_run=run), meaning)
    anywhere = replace(request.viewer, run_id="")
    wider = [
        hit
        for hit in answer(account_id, replace(request, viewer=anywhere), meaning)
        if hit.entry.pk not in {one.entry.pk for one in here}
    ]
    half = request.limit - request.limit // 2
    ours = max(half, request.limit - len(wider))
    chosen = here[:ours]
    chosen += wider[: request.limit - len(chosen)]
    return sorted(chosen, key=lambda hit: -hit.score)
