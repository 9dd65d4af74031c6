"""Reading memories: what an agent is told, and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from time import monotonic
from typing import Any
from uuid import UUID

from django.conf import settings

from kmapp.accounts.acting import acting
from kmapp.providers.active import active_model
from kmapp.providers.embedding import OpenAIEmbedder
from kmapp.providers.errors import ProviderError
from kmapp.providers.query_cache import query_vector
from kmapp.search import queries
from kmapp.search.fusion import Candidate, Query, Ranked, fuse
from kmapp.search.queries import Collection, Meaning
from kmapp.text import terms
from memory.models import EntryQuerySet, MemoryEntry, Viewer
from memory.models.entries import COLLECTION

CANDIDATES = 100  # from each list; both scores are then exact for all of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """What is asked, by whom, and for how much."""

    query: str
    viewer: Viewer = field(default_factory=Viewer)
    limit: int = 10
    kinds: Sequence[str] = ()
    tags: Sequence[str] = ()  # all of them
    min_score: float = 0.0
    observed_after: datetime | None = None
    observed_before: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One memory found: its score is the sum of its parts."""

    entry: MemoryEntry
    score: float
    parts: Mapping[str, float]
    ready: bool  # False: found by its words alone, its vector is not there yet


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """An answer: hits, best first, and what was decided on the way to them."""

    hits: Sequence[Hit]
    decisions: Sequence[Mapping[str, Any]]


def search(account_id: UUID, asked: Search) -> Found:
    """Find memories by words and by meaning. Opens `acting` itself: the model is asked outside of it.

    Without the embedder the answer is made from words alone and says so.
    """
    decisions: list[Mapping[str, Any]] = []
    meaning = _meaning(account_id, asked.query, decisions)
    with acting(account_id):
        rows = _findable(account_id, asked)
        ranked, ready = _rank(account_id, asked.query, meaning, rows)
        best = [each for each in ranked if each.score >= asked.min_score][: asked.limit]
        entries = rows.in_bulk([each.id for each in best])
    return Found(
        hits=[
            Hit(entry=entries[each.id], score=each.score, parts=each.parts, ready=each.id in ready)
            for each in best
            if each.id in entries
        ],
        decisions=decisions,
    )


def _findable(account_id: UUID, asked: Search) -> EntryQuerySet:
    rows = MemoryEntry.objects.of(account_id).current().visible_to(asked.viewer)
    if asked.kinds:
        rows = rows.filter(kind__in=asked.kinds)
    if asked.tags:
        rows = rows.filter(tags__contains=list(asked.tags))
    if asked.observed_after:
        rows = rows.filter(observed_at__gte=asked.observed_after)
    if asked.observed_before:
        rows = rows.filter(observed_at__lt=asked.observed_before)
    return rows


def _meaning(account_id: UUID, query: str, decisions: list[Mapping[str, Any]]) -> Meaning | None:
    """The query's vector, or None and a decision that says why there is none."""
    model = active_model()
    started = monotonic()
    try:
        found = query_vector(
            account_id, query, model=model, embedder=OpenAIEmbedder.for_queries(model)
        )
    except ProviderError as error:
        decisions.append(
            {
                "code": error.code,
                "message": "Found by words alone: the embedder did not answer.",
                "waited_ms": round((monotonic() - started) * 1000),
                "deadline_ms": round(settings.EMBEDDING_DEADLINE * 1000),
            }
        )
        return None
    if found.cached:
        decisions.append({"code": "km_query_vector_cached", "message": "The query was known."})
    return Meaning.of(model, found.vector)


def _rank(
    account_id: UUID, query: str, meaning: Meaning | None, rows: EntryQuerySet
) -> tuple[list[Ranked], set[UUID]]:
    """All candidates, best first, and those whose vector is ready."""
    collection = Collection(account_id=account_id, name=COLLECTION)
    words = queries.weigh(collection, terms(query))
    by_words = queries.best_by_words(collection, words, within=rows, limit=CANDIDATES)
    near = queries.nearest(collection, meaning, within=rows, limit=CANDIDATES) if meaning else {}
    bm25 = by_words | queries.bm25_of(collection, words, list(near.keys() - by_words.keys()))
    cosine = dict(near)
    if meaning:
        cosine |= queries.cosine_of(collection, meaning, list(by_words.keys() - near.keys()))
    candidates = [
        Candidate(id=each, cosine=cosine.get(each), bm25=bm25.get(each, 0.0))
        for each in by_words.keys() | near.keys()
    ]
    return fuse(Query(text=query, idf_sum=words.idf_sum), candidates), set(cosine)
