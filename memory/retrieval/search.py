"""Search of memories."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache, partial
from itertools import islice, takewhile
from time import monotonic
from typing import Any
from uuid import UUID

from django.db.models import Q

from kmapp.accounts.acting import acting
from kmapp.ledger.read_verification import withhold_mismatches
from kmapp.providers.active_models import active_model
from kmapp.providers.rerank import is_configured
from kmapp.search.allowed_objects import AllowedObjects
from kmapp.search.candidate_ranking import RankedCandidate, rank_candidates, rank_signals
from kmapp.search.id_array_lookup import IdArray
from kmapp.search.query_vector import QueryVector, build_cosine_scale, load_query_vector
from kmapp.search.read_replica import run_on_replica
from kmapp.search.reranking import compute_candidate_limit, rerank_results
from kmapp.search.score_calibration import (
    COMPARED_RESULTS,
    RESPONSE_CALIBRATION,
    RESULT_CALIBRATION,
    compute_following_mean,
)
from kmapp.search.signal_weights import SHIPPED_WEIGHTS
from kmapp.search.variants import DEFAULT_VARIANT, Variant
from kmapp.text.terms import chinese_share
from memory.extraction.fact_resolution import normalize_for_comparison
from memory.models import EntryQuerySet, MemoryEntry, Viewer
from memory.retrieval.as_of import PastState, exclude_hidden_entries
from memory.retrieval.candidates import collect_candidates
from memory.retrieval.indexed_text import build_indexed_text
from memory.retrieval.result_rows import load_rows
from memory.retrieval.shadow_rankings import Shadow, push_observation
from memory.retrieval.viewer_filters import build_viewer_filter

DEFAULT_LIMIT = 10  # results
# Signals from the context of a memory, not from its own text.
CONTEXT_SIGNALS = frozenset({"context", "window", "near", "run"})
EXTRA_CANDIDATES = 10  # additional candidates when some results have equal texts
MAX_CACHED_VALUES = 50  # kinds and tags of a condition that is cached


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """A query, its viewer and its limits."""

    query: str
    viewer: Viewer = field(default_factory=Viewer)
    limit: int = DEFAULT_LIMIT
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  # all of them
    min_score: float = 0.0
    by_meaning: bool = True  # False: search by words only
    of_anyone: bool = False  # for people only: include memories that the viewer cannot see
    observed_after: datetime | None = None
    observed_before: datetime | None = None
    filters: Q | None = None  # see memory.retrieval.filter_expressions
    as_of: datetime | None = None  # search the state at this time
    in_run: str = ""  # only memories of this run
    is_exhaustive: bool = False  # compare every memory: slow, but the index misses some
    drops_equal_texts: bool = True  # return one memory of each text
    variant: Variant = DEFAULT_VARIANT  # with the account's ranking, if one is active
    shadow: Shadow | None = None  # a ranking that is compared with the live one


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A search result; its score is the sum of its parts."""

    entry: MemoryEntry
    score: float
    parts: Mapping[str, float]
    ready: bool  # False: matched by words only, its vector was not compared
    state: str = "READY"  # of its vector, see `MemoryEntry.embedding_state`
    relevance: float = 0.0  # probability that it is relevant, from the score before reranking
    confidence: float = 0.0  # the same for a response with this as its best result


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """Hits, best first, and the decisions and timings of the search."""

    hits: Sequence[Hit]
    decisions: Sequence[Mapping[str, Any]]
    timings: Mapping[str, float]  # milliseconds


def search_memories(account_id: UUID, request: SearchRequest) -> SearchResult:
    """Find memories by words and by meaning. Opens `acting` itself and calls the embedder outside.

    Without the embedder, the search is by words only, and `decisions` states it.
    """
    decisions: list[Mapping[str, Any]] = []
    started = monotonic()
    meaning = (
        load_query_vector(account_id, request.query, decisions) if request.by_meaning else None
    )
    vector_at = monotonic()
    wider = (
        replace(request, limit=compute_candidate_limit(request.limit), min_score=0.0)
        if is_configured()
        else request
    )
    hits = search_with_vector(account_id, wider, meaning)
    searched_at = monotonic()
    hits = rerank_results(request.query, hits, lambda hit: build_indexed_text(hit.entry), decisions)
    sufficient = [hit for hit in hits if hit.score >= request.min_score]
    timings = {"meaning": 1000 * (vector_at - started), "search": 1000 * (searched_at - vector_at)}
    if is_configured():
        timings["rerank"] = 1000 * (monotonic() - searched_at)
    return SearchResult(hits=sufficient[: request.limit], decisions=decisions, timings=timings)


def search_with_vector(
    account_id: UUID, request: SearchRequest, meaning: QueryVector | None
) -> list[Hit]:
    """Run the search, given the query's vector, on a replica if there is one."""
    return run_on_replica(account_id, partial(_search_database, account_id, request, meaning))


def _search_database(
    account_id: UUID, request: SearchRequest, meaning: QueryVector | None
) -> list[Hit]:
    model = meaning.model if meaning else active_model()
    scale = build_cosine_scale(model)
    with acting(account_id):
        within, old_texts = build_allowed_objects(account_id, request), {}
        if past := build_past_state(account_id, request):
            ids = past.list_ids(filter_entries(account_id, request))
            within, old_texts = AllowedObjects.from_ids(ids), past.load_old_texts(ids)
        within = replace(within, is_scanned=request.is_exhaustive)
        signals = collect_candidates(account_id, request.query, meaning, within, old_texts)
        without = frozenset() if request.variant.algorithm.by_run else CONTEXT_SIGNALS
        ranking = request.variant.ranking
        learned = ranking.weights if ranking else SHIPPED_WEIGHTS
        ranked = rank_candidates(
            signals.query, signals.candidates, scale, without=without, learned=learned
        )
        if request.shadow and request.query and not request.in_run:
            push_observation(request.shadow, request.query, request.viewer, ranked)
        # Probabilities are calibrated for the shipped weights.
        shipped = rank_signals(ranked.signals, SHIPPED_WEIGHTS) if ranking else ranked
        shipped_scores = dict(zip(shipped.ids, shipped.scores, strict=True))
        following_mean = compute_following_mean(shipped.scores[: COMPARED_RESULTS + 1])
        chinese = chinese_share(request.query)

        def to_hits(candidates: Sequence[RankedCandidate]) -> list[Hit]:
            ids = [each.id for each in candidates]
            if past:  # load these only, because reading the versions of all takes long
                these = replace(past, present=past.present.filter(pk__any_of=IdArray(ids)))
                rows = MemoryEntry.objects.of(account_id)
                matches = these.load_entries(rows.with_verify_on_read(account_id))
            else:
                matches = load_rows(account_id, ids)
            sealed = withhold_mismatches(account_id, matches, is_past=past is not None)
            entries = {str(each.pk): each for each in sealed}
            return [
                Hit(
                    entry=entries[each.id],
                    score=each.score,
                    parts=each.parts,
                    ready=each.id in signals.ready,
                    relevance=RESULT_CALIBRATION.probability(
                        shipped_scores[each.id], following_mean, chinese
                    ),
                    confidence=RESPONSE_CALIBRATION.probability(
                        shipped_scores[each.id], following_mean, chinese
                    ),
                )
                for each in candidates
                if each.id in entries
            ]

        select_hits = drop_equal_texts if request.drops_equal_texts else list[Hit]
        best = takewhile(lambda each: each.score >= request.min_score, ranked)
        hits = select_hits(to_hits([*islice(best, request.limit)]))
        more = islice(best, request.limit + EXTRA_CANDIDATES)
        # Replace withheld results and equal texts.
        if len(hits) < request.limit and (candidates := [*more]):
            hits = select_hits([*hits, *to_hits(candidates)])
        return _add_embedding_states(account_id, hits[: request.limit], model.pk)


def _add_embedding_states(account_id: UUID, hits: Sequence[Hit], model_id: int) -> list[Hit]:
    """Add the embedding states, which are loaded only for hits without a compared vector."""
    ids_without_vector = [hit.entry.pk for hit in hits if not hit.ready]
    if not ids_without_vector:
        return list(hits)
    rows = (
        MemoryEntry.objects.of(account_id)
        .filter(pk__any_of=IdArray(ids_without_vector))
        .only("tier")
    )
    states = {row.pk: row.embedding_state for row in rows.with_embedding_state(model_id)}
    return [
        hit if hit.ready else replace(hit, state=states.get(hit.entry.pk, "NONE")) for hit in hits
    ]


def drop_equal_texts(hits: Iterable[Hit]) -> list[Hit]:
    """Drop hits whose text equals that of a better one, except in spacing, case or a full stop.

    Two texts that differ in one word or sign may state the opposite: 1.5 mg is not 15 mg.
    """
    hits_by_text: dict[str, Hit] = {}
    for hit in hits:
        text = normalize_for_comparison(hit.entry.content)
        hits_by_text.setdefault(text or str(hit.entry.pk), hit)
    return list(hits_by_text.values())


def build_past_state(
    account_id: UUID, request: SearchRequest, ids: IdArray | None = None
) -> PastState | None:
    """Return the past state to search, or None for the present.

    It excludes memories that the viewer cannot see now.
    """
    if request.as_of is None:
        return None
    present = exclude_hidden_entries(MemoryEntry.objects.of(account_id).visible_to(request.viewer))
    if ids is not None:
        present = present.filter(pk__any_of=ids)
    return PastState(account_id=account_id, at=request.as_of, present=present)


def build_allowed_objects(account_id: UUID, request: SearchRequest) -> AllowedObjects:
    """Return the condition on visible rows, cached because agents repeat it."""
    is_long = len(request.tags) + len(request.kinds) > MAX_CACHED_VALUES
    if request.filters is not None or request.as_of or is_long:
        return AllowedObjects.from_queryset(filter_entries(account_id, request))
    if not _is_narrow(request):
        return build_viewer_filter(account_id, request.viewer)
    cacheable = replace(
        request, query="", limit=0, min_score=0.0, variant=DEFAULT_VARIANT, shadow=None
    )
    return _build_cached_filter(account_id, cacheable)


@lru_cache(maxsize=1_000)
def _build_cached_filter(account_id: UUID, request: SearchRequest) -> AllowedObjects:
    """Return the filter as SQL. Only its text is cached; rows are read each time."""
    allowed = AllowedObjects.from_queryset(filter_entries(account_id, request))
    parts = [AllowedObjects.from_queryset(each) for each in _list_parts(account_id, request)]
    return replace(allowed, as_list=AllowedObjects.from_parts(parts))


def _is_narrow(request: SearchRequest) -> bool:
    """Return whether the request is for a part of what the viewer sees, or for more than that.

    No reader groups contain just this.
    """
    conditions = (request.kinds, request.tags, request.in_run, request.viewer.scope is not None)
    bounds = (request.observed_after, request.observed_before)
    return request.of_anyone or any(conditions) or any(bounds)


def filter_entries(account_id: UUID, request: SearchRequest) -> EntryQuerySet:
    """Return the memories that are visible to the viewer and match the request."""
    rows = _match_request(account_id, request)
    return rows if request.of_anyone else rows.visible_to(request.viewer)


def _list_parts(account_id: UUID, request: SearchRequest) -> list[EntryQuerySet]:
    """Return the rows of `filter_entries` as disjoint parts."""
    rows = _match_request(account_id, request)
    return [rows] if request.of_anyone else rows.visible_parts(request.viewer)


def _match_request(account_id: UUID, request: SearchRequest) -> EntryQuerySet:
    """Return the memories that match the request, whoever can see them."""
    rows = MemoryEntry.objects.of(account_id)
    if not request.of_anyone:
        rows = rows.current(request.as_of)
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
