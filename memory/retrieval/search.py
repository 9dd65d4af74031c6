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
from kmapp.providers.active import active_model
from kmapp.providers.rerank import configured
from kmapp.search.fusion import Ranked, fuse
from kmapp.search.lookups import Ids
from kmapp.search.queries import Meaning, Within
from kmapp.search.query_vector import meaning_of, scale_of
from kmapp.search.reranking import candidate_limit, reranked
from kmapp.search.variants import DEFAULT, Variant
from memory.models import EntryQuerySet, MemoryEntry, Viewer
from memory.retrieval.as_of import Past, tellable
from memory.retrieval.candidates import gather
from memory.retrieval.indexed_text import words_of

USUAL = 10  # results
# What says something of a memory only by what was said around it.
SURROUNDINGS = frozenset({"context", "window", "near", "far", "run"})
SPARE = 10  # more than asked for, where some said the same
_LETTERS = re.compile(r"\W+")
# Always the same: writing it anew each time takes Django longer than Postgres takes to answer it.
_BY_ID = "SELECT * FROM memory_memoryentry WHERE account_id = %s AND id = ANY (%s::uuid[])"


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What is asked, by whom, and for how much."""

    query: str
    viewer: Viewer = field(default_factory=Viewer)
    limit: int = USUAL
    kinds: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  # all of them
    min_score: float = 0.0
    by_meaning: bool = True  # False: by words alone, on purpose
    of_anyone: bool = False  # for people only: what is not told to the viewer, too
    observed_after: datetime | None = None
    observed_before: datetime | None = None
    filters: Q | None = None  # see memory.retrieval.filters
    as_of: datetime | None = None  # what would have been found then
    in_run: str = ""  # of this run only
    exactly: bool = False  # each memory is measured: slow; the index overlooks some
    variant: Variant = DEFAULT


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One memory found: its score is the sum of its parts."""

    entry: MemoryEntry
    score: float
    parts: Mapping[str, float]
    ready: bool  # False: found by its words alone, its meaning was not compared
    state: str = "READY"  # of its vector, as `MemoryEntry.embedding_state` has it


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """An answer: hits, best first, and what was decided on the way to them."""

    hits: Sequence[Hit]
    decisions: Sequence[Mapping[str, Any]]
    timings: Mapping[str, float]  # milliseconds


def search(account_id: UUID, request: Search) -> SearchResult:
    """Find memories by words and by meaning. Opens `acting` itself, and asks the model outside.

    Without the embedder the answer is made from words alone and says so.
    """
    decisions: list[Mapping[str, Any]] = []
    started = monotonic()
    meaning = meaning_of(account_id, request.query, decisions) if request.by_meaning else None
    vector_at = monotonic()
    wider = (
        replace(request, limit=candidate_limit(request.limit), min_score=0.0)
        if configured()
        else request
    )
    hits = answer(account_id, wider, meaning)
    answered = monotonic()
    hits = reranked(request.query, hits, lambda hit: words_of(hit.entry), decisions)
    good = [hit for hit in hits if hit.score >= request.min_score]
    timings = {"meaning": 1000 * (vector_at - started), "search": 1000 * (answered - vector_at)}
    if configured():
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
        ranked = fuse(signals.query, signals.candidates, scale, without=without)
        best = [each for each in ranked if each.score >= request.min_score]

        def to_hits(some: Sequence[Ranked]) -> list[Hit]:
            ids = [each.id for each in some]
            matches = (
                past.entries(MemoryEntry.objects.of(account_id).filter(pk__in=ids))
                if past
                else MemoryEntry.objects.raw(_BY_ID, [account_id, Ids(ids).array])
            )
            entries = {str(each.pk): each for each in matches}
            return [
                Hit(
                    entry=entries[each.id],
                    score=each.score,
                    parts=each.parts,
                    ready=each.id in signals.ready,
                )
                for each in some
                if each.id in entries
            ]

        hits = _distinct(to_hits(best[: request.limit]))
        if len(hits) < request.limit < len(best):  # some say the same: others take their place
            hits = _distinct([*hits, *to_hits(best[request.limit :][: request.limit + SPARE])])
        return _with_states(account_id, hits[: request.limit], model.pk)


def _with_states(account_id: UUID, hits: Sequence[Hit], model_id: int) -> list[Hit]:
    """How far the vectors are. It is asked of those only whose meaning was not compared."""
    waiting = [hit.entry.pk for hit in hits if not hit.ready]
    if not waiting:
        return list(hits)
    rows = MemoryEntry.objects.of(account_id).filter(pk__any_of=Ids(waiting)).only("tier")
    states = {row.pk: row.embedding_state for row in rows.with_embedding_state(model_id)}
    return [
        hit if hit.ready else replace(hit, state=states.get(hit.entry.pk, "NONE")) for hit in hits
    ]


def _distinct(hits: Iterable[Hit]) -> list[Hit]:
    """Without what says the same, letter by letter, as something better: it would only take room.

    Two texts that differ in one word may well say the opposite, so nothing looser will do.
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
    return _filter(account_id, replace(request, query="", limit=0, min_score=0.0, variant=DEFAULT))


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
