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
from kmapp.providers.models import EmbeddingModel
from kmapp.providers.query_cache import query_vector
from kmapp.search.fusion import Scale, fuse
from kmapp.search.queries import Meaning
from memory.models import EntryQuerySet, MemoryEntry, Viewer
from memory.signals import gather


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
    """Find memories by words and by meaning. Opens `acting` itself, and asks the model outside.

    Without the embedder the answer is made from words alone and says so.
    """
    decisions: list[Mapping[str, Any]] = []
    meaning = _meaning(account_id, asked.query, decisions)
    with acting(account_id):
        rows = _findable(account_id, asked)
        signals = gather(account_id, asked.query, meaning, rows)
        ranked = fuse(signals.query, signals.candidates, scale_of(active_model()))
        best = [each for each in ranked if each.score >= asked.min_score][: asked.limit]
        entries = MemoryEntry.objects.of(account_id).in_bulk([each.id for each in best])
    return Found(
        hits=[
            Hit(
                entry=entries[each.id],
                score=each.score,
                parts=each.parts,
                ready=each.id in signals.ready,
            )
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


def scale_of(model: EmbeddingModel) -> Scale:
    """The cosines between which a model's scores are made."""
    return Scale(low=model.cosine_low, high=model.cosine_high)
