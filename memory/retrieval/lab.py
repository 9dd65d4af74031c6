"""The recall lab: results of a query, the next lower results and explanations. For people only."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from time import monotonic
from typing import Any
from uuid import UUID

from django.db.models import TextChoices
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from kmapp.accounts.acting import acting
from kmapp.text import token_counter
from memory.models import MemoryEntry
from memory.retrieval.active_rankings import apply_rankings
from memory.retrieval.prompt_block import MEMORY_OFF_DECISION, build_prompt_block
from memory.retrieval.recall import DEFAULT_SEEDS as SEEDS
from memory.retrieval.recall import RecallRequest, recall_memories
from memory.retrieval.search import DEFAULT_LIMIT, Hit, SearchRequest, search_memories

MAX_LOWER_HITS = 5  # results shown below the limit, and as many excluded memories
EXCLUSION_SEARCH_RESULTS = 40  # additional results in which excluded memories are searched
MAX_REACHED = 20  # related memories shown
Status = MemoryEntry.Status


class Endpoint(TextChoices):
    """The endpoint that a query is sent to."""

    SEARCH = "search", _("search: best matches")
    RECALL = "recall", _("recall: matches and related memories")
    INJECT = "inject", _("inject: a block of text for the prompt")


BEYOND_LIMIT = _("beyond the limit: other memories scored higher")
_EXCLUSION_REASONS: Mapping[str, str | Promise] = {
    Status.PROPOSED: _("not approved: pending review"),
    Status.REJECTED: _("rejected by a reviewer"),
    Status.SUPERSEDED: _("superseded by a newer memory"),
    Status.FORGOTTEN: _("forgotten"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LabHit:
    """A memory of a response."""

    hit: Hit
    rank: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MissedMemory:
    """A memory that is not in the response, with each reason."""

    hit: Hit
    reasons: Sequence[str | Promise]


@dataclass(frozen=True, slots=True, kw_only=True)
class LabQuery:
    """The query and its endpoint. Omitted values have the defaults of the endpoint."""

    search: SearchRequest  # its limit and minimum score are ignored
    endpoint: Endpoint = Endpoint.SEARCH
    max_results: int | None = None
    min_score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachedMemory:
    """A memory that is returned because it is related to a result."""

    entry: MemoryEntry
    activation: float
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LabAnswer:
    """The response of an endpoint."""

    request: SearchRequest  # with the effective limit and minimum score
    hits: Sequence[Hit]
    decisions: Sequence[Mapping[str, Any]]
    timings: Mapping[str, float]
    reached: Sequence[ReachedMemory] = ()  # only by recall
    block: str = ""  # only by inject
    block_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The result of one query with one configuration."""

    question: LabQuery
    answer: LabAnswer
    hits: Sequence[LabHit]
    missed: Sequence[MissedMemory]

    @property
    def tokens(self) -> int:
        hits = sum(one.tokens for one in self.hits)
        return self.answer.block_tokens or hits + sum(one.tokens for one in self.answer.reached)

    @property
    def milliseconds(self) -> float:
        return sum(self.answer.timings.values())

    def rank_of(self, entry_id: UUID) -> int | None:
        return next((one.rank for one in self.hits if one.hit.entry.pk == entry_id), None)


def run_trial(account_id: UUID, question: LabQuery) -> Trial:
    """Run a query as an agent does, and find what was not returned. Outside `acting`."""
    search_request = apply_rankings(account_id, question.search, with_shadow=False)
    question = replace(question, search=search_request)
    answer = _ENDPOINTS[question.endpoint](account_id, question)
    if MEMORY_OFF_DECISION in answer.decisions:  # no memory was compared with others
        return Trial(question=question, answer=answer, hits=[], missed=[])
    request, returned_ids = answer.request, {hit.entry.pk for hit in answer.hits}
    returned_ids |= {one.entry.pk for one in answer.reached}

    def search_others(wider: SearchRequest) -> list[MissedMemory]:
        hits = search_memories(account_id, wider).hits
        others = [hit for hit in hits if hit.entry.pk not in returned_ids]
        returned_ids.update(hit.entry.pk for hit in others)
        return _explain_missed(account_id, request, others)

    lower = search_others(replace(request, limit=request.limit + MAX_LOWER_HITS, min_score=0.0))
    unrestricted = replace(
        request, limit=request.limit + EXCLUSION_SEARCH_RESULTS, min_score=0.0, of_anyone=True
    )
    excluded = [one for one in search_others(unrestricted) if one.reasons != [BEYOND_LIMIT]]
    missed = [*lower, *excluded[:MAX_LOWER_HITS]]
    return Trial(
        question=question,
        answer=answer,
        hits=[
            LabHit(hit=hit, rank=rank, tokens=token_counter.count_tokens(hit.entry.content))
            for rank, hit in enumerate(answer.hits, 1)
        ],
        missed=sorted(missed, key=lambda one: -one.hit.score),
    )


def _run_search(account_id: UUID, question: LabQuery) -> LabAnswer:
    request = replace(
        question.search,
        limit=question.max_results or DEFAULT_LIMIT,
        min_score=question.min_score or 0.0,
    )
    result = search_memories(account_id, request)
    return LabAnswer(
        request=request, hits=result.hits, decisions=result.decisions, timings=result.timings
    )


def _run_recall(account_id: UUID, question: LabQuery) -> LabAnswer:
    request = replace(
        question.search, limit=question.max_results or SEEDS, min_score=question.min_score or 0.0
    )
    started = monotonic()
    result = recall_memories(account_id, RecallRequest(search=request))
    seeds = {hit.entry.pk for hit in result.seeds}
    related = [(pk, activation) for pk, activation in result.activation.items() if pk not in seeds]
    return LabAnswer(
        request=request,
        hits=result.seeds,
        decisions=result.decisions,
        timings={"recall": 1000 * (monotonic() - started)},
        reached=[
            ReachedMemory(
                entry=result.entries[pk],
                activation=activation,
                tokens=token_counter.count_tokens(result.entries[pk].content),
            )
            for pk, activation in related[:MAX_REACHED]
        ],
    )


def _run_inject(account_id: UUID, question: LabQuery) -> LabAnswer:
    started = monotonic()
    block = build_prompt_block(
        account_id, question.search, max_memories=question.max_results, min_score=question.min_score
    )
    return LabAnswer(
        request=replace(question.search, limit=len(block.hits), min_score=block.threshold),
        hits=block.hits,
        decisions=block.decisions,
        timings={"inject": 1000 * (monotonic() - started)},
        block=block.text,
        block_tokens=block.tokens,
    )


_ENDPOINTS = {
    Endpoint.SEARCH: _run_search,
    Endpoint.RECALL: _run_recall,
    Endpoint.INJECT: _run_inject,
}


def _explain_missed(
    account_id: UUID, request: SearchRequest, missed: Sequence[Hit]
) -> list[MissedMemory]:
    ids = [hit.entry.pk for hit in missed]
    with acting(account_id):
        visible_rows = (
            MemoryEntry.objects.of(account_id).filter(pk__in=ids).visible_to(request.viewer)
        )
        visible_ids = set(visible_rows.values_list("pk", flat=True))
    now = request.as_of or timezone.now()
    return [
        MissedMemory(
            hit=hit,
            reasons=list_exclusion_reasons(
                hit, request, is_visible=hit.entry.pk in visible_ids, now=now
            ),
        )
        for hit in missed
    ]


def list_exclusion_reasons(
    hit: Hit, request: SearchRequest, *, is_visible: bool, now: datetime
) -> list[str | Promise]:
    """Return why a memory is not in the response: all exclusions, or that others rank higher."""
    entry = hit.entry
    result: list[str | Promise] = []
    if not is_visible:
        result.append(_("not visible to this user, agent or session"))
    if entry.status in _EXCLUSION_REASONS:
        result.append(_EXCLUSION_REASONS[entry.status])
    if entry.expires_at and entry.expires_at <= now:
        result.append(_("expired"))
    if entry.valid_from and entry.valid_from > now:
        result.append(_("not valid yet"))
    if entry.valid_to and entry.valid_to <= now:
        result.append(_("no longer valid"))
    if hit.score < request.min_score:
        result.append(_("below the minimum score"))
    return result or [BEYOND_LIMIT]
