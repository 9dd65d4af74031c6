"""The recall lab: results of a query, near misses and explanations. For people only."""

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
from kmapp.text import tokens
from memory.models import MemoryEntry
from memory.retrieval.prompt_block import inject
from memory.retrieval.rankings import with_rankings
from memory.retrieval.recall import USUAL as SEEDS
from memory.retrieval.recall import Recall, recall
from memory.retrieval.search import USUAL, Hit, Search, search

BELOW = 5  # results shown below the limit, and as many excluded memories
WIDER = 40  # additional results in which excluded memories are searched
REACHED = 20  # related memories shown
Status = MemoryEntry.Status


class Endpoint(TextChoices):
    """The endpoint that a query is sent to."""

    SEARCH = "search", _("search: best matches")
    RECALL = "recall", _("recall: matches and related memories")
    INJECT = "inject", _("inject: a block of text for the prompt")


LIMIT = _("beyond the limit: other memories scored higher")
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
class Missed:
    """A memory that is not in the response, with each reason."""

    hit: Hit
    reasons: Sequence[str | Promise]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The query and its endpoint. Omitted values have the defaults of the endpoint."""

    search: Search  # its limit and minimum score are ignored
    endpoint: Endpoint = Endpoint.SEARCH
    most: int | None = None
    least: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """A memory that is returned because it is related to a result."""

    entry: MemoryEntry
    activation: float
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LabAnswer:
    """The response of an endpoint."""

    request: Search  # with the effective limit and minimum score
    hits: Sequence[Hit]
    decisions: Sequence[Mapping[str, Any]]
    timings: Mapping[str, float]
    reached: Sequence[Reached] = ()  # only by recall
    block: str = ""  # only by inject
    block_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The result of one query with one configuration."""

    question: Question
    answer: LabAnswer
    hits: Sequence[LabHit]
    missed: Sequence[Missed]

    @property
    def tokens(self) -> int:
        hits = sum(one.tokens for one in self.hits)
        return self.answer.block_tokens or hits + sum(one.tokens for one in self.answer.reached)

    @property
    def milliseconds(self) -> float:
        return sum(self.answer.timings.values())

    def rank_of(self, entry_id: UUID) -> int | None:
        return next((one.rank for one in self.hits if one.hit.entry.pk == entry_id), None)


def try_out(account_id: UUID, question: Question) -> Trial:
    """Run a query as an agent does, and find what was not returned. Outside `acting`."""
    search_request = with_rankings(account_id, question.search, watched=False)
    question = replace(question, search=search_request)
    answer = _ENDPOINTS[question.endpoint](account_id, question)
    request, returned_ids = answer.request, {hit.entry.pk for hit in answer.hits}
    returned_ids |= {one.entry.pk for one in answer.reached}
    wider = replace(request, limit=request.limit + BELOW, min_score=0.0)
    below = [hit for hit in search(account_id, wider).hits if hit.entry.pk not in returned_ids]
    returned_ids |= {hit.entry.pk for hit in below}
    anyones = replace(request, limit=request.limit + WIDER, min_score=0.0, of_anyone=True)
    others = [hit for hit in search(account_id, anyones).hits if hit.entry.pk not in returned_ids]
    excluded = [one for one in _explained(account_id, request, others) if one.reasons != [LIMIT]]
    missed = [*_explained(account_id, request, below), *excluded[:BELOW]]
    return Trial(
        question=question,
        answer=answer,
        hits=[
            LabHit(hit=hit, rank=rank, tokens=tokens.count(hit.entry.content))
            for rank, hit in enumerate(answer.hits, 1)
        ],
        missed=sorted(missed, key=lambda one: -one.hit.score),
    )


def _search(account_id: UUID, question: Question) -> LabAnswer:
    request = replace(
        question.search, limit=question.most or USUAL, min_score=question.least or 0.0
    )
    result = search(account_id, request)
    return LabAnswer(
        request=request, hits=result.hits, decisions=result.decisions, timings=result.timings
    )


def _recall(account_id: UUID, question: Question) -> LabAnswer:
    request = replace(
        question.search, limit=question.most or SEEDS, min_score=question.least or 0.0
    )
    began = monotonic()
    result = recall(account_id, Recall(search=request))
    seeds = {hit.entry.pk for hit in result.seeds}
    beyond = [(pk, active) for pk, active in result.activation.items() if pk not in seeds]
    return LabAnswer(
        request=request,
        hits=result.seeds,
        decisions=result.decisions,
        timings={"recall": 1000 * (monotonic() - began)},
        reached=[
            Reached(
                entry=result.entries[pk],
                activation=active,
                tokens=tokens.count(result.entries[pk].content),
            )
            for pk, active in beyond[:REACHED]
        ],
    )


def _inject(account_id: UUID, question: Question) -> LabAnswer:
    began = monotonic()
    injected = inject(account_id, question.search, most=question.most, least=question.least)
    return LabAnswer(
        request=replace(question.search, limit=len(injected.hits), min_score=injected.threshold),
        hits=injected.hits,
        decisions=injected.decisions,
        timings={"inject": 1000 * (monotonic() - began)},
        block=injected.text,
        block_tokens=injected.tokens,
    )


_ENDPOINTS = {Endpoint.SEARCH: _search, Endpoint.RECALL: _recall, Endpoint.INJECT: _inject}


def _explained(account_id: UUID, request: Search, missed: Sequence[Hit]) -> list[Missed]:
    ids = [hit.entry.pk for hit in missed]
    with acting(account_id):
        seen = MemoryEntry.objects.of(account_id).filter(pk__in=ids).visible_to(request.viewer)
        visible = set(seen.values_list("pk", flat=True))
    now = request.as_of or timezone.now()
    return [
        Missed(hit=hit, reasons=reasons(hit, request, visible=hit.entry.pk in visible, now=now))
        for hit in missed
    ]


def reasons(hit: Hit, request: Search, *, visible: bool, now: datetime) -> list[str | Promise]:
    """Return why a memory is not in the response: all exclusions, or that others rank higher."""
    entry = hit.entry
    result: list[str | Promise] = []
    if not visible:
        result.append(_("not visible to this user, agent or run"))
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
    return result or [LIMIT]
