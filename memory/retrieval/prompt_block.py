"""Prompt blocks of memories, half of them from the run of the request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.search.query_vector import QueryVector, load_query_vector
from kmapp.search.score_calibration import MIN_CONFIDENCE
from kmapp.text import token_counter
from memory.models import MemoryEntry, MemorySettings
from memory.models.settings import MAX_INJECTED
from memory.retrieval.search import Hit, SearchRequest, drop_equal_texts, search_with_vector
from memory.retrieval.text_budget import BlockEntry, build_block

MEMORY_OFF_DECISION = {
    "code": "km_memory_off",
    "message": "The account's policy: agents do not use memory.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptBlock:
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
        return self.confidence >= MIN_CONFIDENCE


def build_prompt_block(
    account_id: UUID,
    request: SearchRequest,
    *,
    max_memories: int | None = None,
    max_tokens: int | None = None,
    min_score: float | None = None,
) -> PromptBlock:
    """Return a block, half of it from the run; each half may fill space that the other leaves.

    The limits default to those of the account's policy. With `max_tokens` alone, the block has as
    many memories as fit.
    """
    with acting(account_id):
        policy = MemorySettings.objects.get_or_default(account_id)
    threshold = policy.min_score if min_score is None else min_score
    if not policy.memory_enabled:
        return PromptBlock(
            text="", hits=[], threshold=threshold, tokens=0, decisions=[MEMORY_OFF_DECISION]
        )
    decisions: list[Mapping[str, Any]] = []
    meaning = load_query_vector(account_id, request.query, decisions)
    limit = max_memories or (MAX_INJECTED if max_tokens else policy.inject_max_memories)
    hits = search_run_and_all(
        account_id, replace(request, limit=limit, min_score=threshold), meaning
    )
    built = build_block(
        [_build_block_entry(hit.entry) for hit in hits],
        query=request.query,
        max_tokens=max_tokens,
        count=token_counter.count_tokens,
    )
    places = set(built.places)
    if omitted := [hit for place, hit in enumerate(hits) if place not in places]:
        decisions.append(_describe_omitted(omitted, len(hits)))
    return PromptBlock(
        text=built.text,
        hits=[hits[place] for place in built.places],
        threshold=threshold,
        tokens=built.tokens,
        decisions=decisions,
    )


def _describe_omitted(omitted: Sequence[Hit], matches: int) -> dict[str, Any]:
    return {
        "code": "km_token_budget",
        "message": f"{len(omitted)} of {matches} memories are not in the text: they exceed the "
        "token budget, or a better memory contains them.",
        "omitted": len(omitted),
        "relevance": max(hit.relevance for hit in omitted),
    }


def _build_block_entry(entry: MemoryEntry) -> BlockEntry:
    speaker = entry.slots.get("speaker")
    is_named = not isinstance(speaker, str) or entry.content.startswith(f"{speaker}:")
    return BlockEntry(
        text=entry.content if is_named else f"{speaker}: {entry.content}",
        date=entry.observed_at,
        run=entry.run_id,
        position=entry.position,
    )


def search_run_and_all(
    account_id: UUID, request: SearchRequest, meaning: QueryVector | None
) -> list[Hit]:
    """Return the memories for a block: half of them from the viewer's run, if it has one."""
    run = request.viewer.run_id
    if not run:
        return search_with_vector(account_id, request, meaning)
    run_hits = search_with_vector(account_id, replace(request, in_run=run), meaning)
    all_runs = replace(request, viewer=replace(request.viewer, run_id=""))
    all_hits = search_with_vector(account_id, all_runs, meaning)
    run_ids = {hit.entry.pk for hit in run_hits}
    other_hits = [hit for hit in all_hits if hit.entry.pk not in run_ids]
    half = request.limit - request.limit // 2
    run_count = max(half, request.limit - len(other_hits))
    # Further memories of the run replace results whose text equals that of another one.
    chosen = drop_equal_texts([*run_hits[:run_count], *other_hits, *run_hits[run_count:]])
    return sorted(chosen[: request.limit], key=lambda hit: -hit.score)
