"""Search of memories."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from time import monotonic
from typing import Any
from uuid import UUID

from django.db.models import Q

from kmapp.accounts.acting import acting
from kmapp.ledger.sealed_reads import withhold
from kmapp.providers.active import active_model
from kmapp.providers.rerank import is_configured
from kmapp.search.calibration import NEXT, RESPONSE, RESULT, level_of
from kmapp.search.fusion import Ranked, fuse, reweigh
from kmapp.search.lookups import Ids
from kmapp.search.queries import Meaning, Within
from kmapp.search.query_vector import meaning_of, scale_of
from kmapp.search.reranking import candidate_limit, rerank_results
from kmapp.search.variants import DEFAULT, Variant
from kmapp.search.weights import SHIPPED
from memory.models import EntryQuerySet, MemoryEntry, Viewer
from memory.retrieval.as_of import Past, tellable
from memory.retrieval.candidates import gather
from memory.retrieval.indexed_text import words_of
from memory.retrieval.result_rows import load_rows
from memory.retrieval.shadow_rankings import Shadow, observe

USUAL = 10  # results
# Signals from the context of a memory, not from its own text.
SURROUNDINGS = frozenset({"context", "window", "near", "run"})
SPARE = 10  # additional candidates when some results have equal texts
_LETTERS = re.compile(r"\W+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A query, its viewer and its limits."""

    query: str
    viewer: Viewer = field(default_factory=Viewer)
    limit: int = USUAL
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  # all of them
    min_score: float = 0.0
    by_meaning: bool = True  # False: search by words only
    of_anyone: bool = False  # for people only: include memories that the viewer cannot see
    observed_after: datetime | None = None
    observed_before: datetime | None = None
    filters: Q | None = None  # see memory.retrieval.filters
    as_of: datetime | None = None  # search the state at this time
    in_run: str = ""  # of this run only
    exactly: bool = False  # compare every memory: slow, but the index misses some
    variant: Variant = DEFAULT  # with the account's ranking, if one is active
    shadow: Shadow | None = None  # a ranking that is compared with the live one


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A search result; its score is the sum of its parts."""

    entry: MemoryEntry
    score: float
    parts: Mapping[str, float]
    ready: bool  # False: matched by words only, its vector was not compared
    state: str = "READY"  # of its vector, as `MemoryEntry.embedding_state` has it
    relevance: float = 0.0  # probability that it is relevant, from the score before reranking
    confidence: float = 0.0  # the same for a response with this as its best result


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """Hits, best first, and the decisions and timings of the search."""

    hits: Sequence[Hit]
    decisions: Sequence[Mapping[str, Any]]
    timings: Mapping[str, float]  # milliseconds


def search(account_id: UUID, request: Search) -> SearchResult:
    """Find memories by words and by meaning. Opens `acting` itself, and asks the model outside.

    Without the embedder, the search is by words only, and `decisions` states it.
    """
    decisions: list[Mapping[str, Any]] = []
    started = monotonic()
    meaning = meaning_of(account_id, request.query, decisions) if request.by_meaning else None
    vector_at = monotonic()
    wider = (
        replace(request, limit=candidate_limit(request.limit), min_score=0.0)
        if is_configured()
        else request
    )
    hits = answer(account_id, wider, meaning)
    answered = monotonic()
    hits = rerank_results(request.query, hits, lambda hit: words_of(hit.entry), decisions)
    good = [hit for hit in hits if hit.score >= request.min_score]
    timings = {"meaning": 1000 * (vector_at - started), "search": 1000 * (answered - vector_at)}
    if is_configured():
        timings["rerank"] = 1000 * (monotonic() - answered)
    return SearchResult(hits=good[: request.limit], decisions=decisions, timings=timings)


def answer(account_id: UUID, request: Search, meaning: Meaning | None) -> list[Hit]:
    """Run the search, given the query's vector."""
    model = meaning.model if meaning else active_model()
    scale = scale_of(model)
    with acting(account_id):
        within, reworded = _within(account_id, request), {}
        if past := past_of(account_id, request):
            ids = past.ids(rows_of(account_id, request))
            within, reworded = Within.these(ids), past.reworded(ids)
        within = replace(within, one_by_one=request.exactly)
        signals = gather(account_id, request.query, meaning, within, reworded)
        without = frozenset() if request.variant.algorithm.by_run else SURROUNDINGS
        ranking = request.variant.ranking
        learned = ranking.weights if ranking else SHIPPED
        ranked = fuse(signals.query, signals.candidates, scale, without=without, learned=learned)
        if request.shadow and not request.in_run:
            observe(request.shadow, request.query, request.viewer, ranked, without)
        best = [each for each in ranked if each.score >= request.min_score]
        # Probabilities are calibrated for the shipped weights.
        plain = reweigh(request.query, ranked, SHIPPED, without) if ranking else ranked
        level = level_of([each.score for each in plain[: NEXT + 1]])
        shipped_scores = {each.id: each.score for each in plain}

        def to_hits(some: Sequence[Ranked]) -> list[Hit]:
            ids = [each.id for each in some]
            if past:
                rows = MemoryEntry.objects.of(account_id).filter(pk__in=ids)
                matches = past.entries(rows.with_verify_on_read(account_id))
            else:
                matches = load_rows(account_id, ids)
            sealed = withhold(account_id, matches, past=past is not None)
            entries = {str(each.pk): each for each in sealed}
            return [
                Hit(
                    entry=entries[each.id],
                    score=each.score,
                    parts=each.parts,
                    ready=each.id in signals.ready,
                    relevance=RESULT.probability(shipped_scores[each.id], level, request.query),
                    confidence=RESPONSE.probability(shipped_scores[each.id], level, request.query),
                )
                for each in some
                if each.id in entries
            ]

        hits = _distinct(to_hits(best[: request.limit]))
        if len(hits) < request.limit < len(best):  # replace results with equal texts
            hits = _distinct([*hits, *to_hits(best[request.limit :][: request.limit + SPARE])])
        return _with_states(account_id, hits[: request.limit], model.pk)


def _with_states(account_id: UUID, hits: Sequence[Hit], model_id: int) -> list[Hit]:
    """Add the embedding states, which are loaded only for hits without a compared vector."""
    waiting = [hit.entry.pk for hit in hits if not hit.ready]
    if not waiting:
        return list(hits)
    rows = MemoryEntry.objects.of(account_id).filter(pk__any_of=Ids(waiting)).only("tier")
    states = {row.pk: row.embedding_state for row in rows.with_embedding_state(model_id)}
    return [
        hit if hit.ready else replace(hit, state=states.get(hit.entry.pk, "NONE")) for hit in hits
    ]


def _distinct(hits: Iterable[Hit]) -> list[Hit]:
    """Drop hits whose text equals, letter by letter, that of a better one.

    Two texts that differ in one word may state the opposite, so the comparison is exact.
    """
    seen: dict[str, Hit] = {}
    for hit in hits:
        seen.setdefault(_LETTERS.sub("", hit.entry.content).casefold() or str(hit.entry.pk), hit)
    return list(seen.values())


def past_of(account_id: UUID, request: Search, among: Ids | None = None) -> Past | None:
    """Return the instant to search at. Invisible memories stay invisible."""
    if request.as_of is None:
        return None
    present = tellable(MemoryEntry.objects.of(account_id).visible_to(request.viewer))
    if among is not None:
        present = present.filter(pk__any_of=among)
    return Past(account_id=account_id, at=request.as_of, present=present)


def _within(account_id: UUID, request: Search) -> Within:
    """Return the condition on visible rows, cached because agents repeat it."""
    if request.filters is not None or request.as_of:
        return Within.of(rows_of(account_id, request))
    plain = replace(request, query="", limit=0, min_score=0.0, variant=DEFAULT, shadow=None)
    return _filter(account_id, plain)


@lru_cache(maxsize=1_000)
def _filter(account_id: UUID, request: Search) -> Within:
    """Return the filter as SQL. Only its text is cached; rows are read each time."""
    return Within.of(rows_of(account_id, request))


def rows_of(account_id: UUID, request: Search) -> EntryQuerySet:
    """Return the memories that are visible to the viewer and match the request."""
    rows = MemoryEntry.objects.of(account_id)
    if not request.of_anyone:
        rows = rows.current(request.as_of).visible_to(request.viewer)
    if request.kinds:
        rows = rows.filter(kind__in=request.kinds)
    if request.tags:
        rows = rows.filter(tags__contains=list(request.tags))
    if request.in_run:
        rows = rows.filter(run_id=request.in_run)
    if request.observed_after:
        rows = rows.filter(observed_at__gte=request.observed_after)
    if request.observed_before:
        rows = rows.filter(observed_at__lt=request.observed_before)
    return rows if request.filters is None else rows.filter(request.filters)
