"""Edges that workers derive from memories. The ledger does not record them.

`related_to` leads from a memory to the few with the most similar meaning, `mentions` to the
entities that it names, and `next` to the following memory of the same run. Related and mentioned
memories always have the same audience, so that an edge reveals nothing about the memories of other
people. Deriving the edges again changes nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import groupby
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.accounts.models import AccountQuerySet
from kmapp.database.advisory_locks import lock_until_commit, try_lock_until_commit
from kmapp.database.ids import uuid7
from kmapp.outbox.registry import RetryLater
from kmapp.providers.active_models import active_model
from kmapp.providers.models import EmbeddingModel
from kmapp.search.allowed_objects import AllowedObjects, Collection
from kmapp.search.batch_nearest_search import find_nearest_of_each
from kmapp.search.models import Vector
from kmapp.search.query_vector import QueryVector, build_cosine_scale
from kmapp.search.word_search import find_best_by_words, load_weighted_terms
from kmapp.text.terms import extract_terms
from memory.actions.edges import EdgeKey
from memory.actions.embeddings import enqueue_contexts
from memory.models import EntryQuerySet, MemoryEdge, MemoryEntry
from memory.models.entries import COLLECTION
from memory.retrieval.run_neighbours import load_neighbours
from memory.retrieval.shared_audience import Audience
from memory.review.similarity import compute_closeness
from memory.topics.entity_name_matcher import build_name_matcher

Kind, Type = MemoryEntry.Kind, MemoryEdge.Type
COMPOSITE_KINDS = (Kind.ENTITY, Kind.TOPIC)  # these represent other memories
MIN_CLOSENESS = 0.3  # of related memories; see `compute_closeness`
MAX_RELATED = 5  # edges from one memory
MAX_INCOMING = 10  # edges to one memory, so that no memory becomes a hub
NEAREST = 20  # candidates, some of which already have enough incoming edges
MAX_MENTIONS = 10  # of one memory
MENTION_CANDIDATES = 50  # memories that are checked for the name of a new entity
MAX_ENTITIES = 500  # of one audience, the newest
RELATED_WEIGHT, MENTION_WEIGHT = 0.4, 0.3  # less than edges of people or agents
NEXT_WEIGHT = 0.5
LOCK_PAUSE = 1.0  # seconds before a job that did not get the lock runs again

_Weights = dict[EdgeKey, float]


def derive_edges(account_id: UUID, ids: Sequence[UUID]) -> int:
    """Replace the `related_to` and `mentions` edges of these memories, and return their number.

    Opens `acting` itself. Only one job of an account runs at a time: two jobs would not see each
    other's edges and would join the same memories in both directions. Raise RetryLater while
    another job runs, so that this process does other work instead of waiting.
    """
    model, audiences = active_model(), _Audiences(account_id)
    with acting(account_id):
        if not try_lock_until_commit(f"relate:{account_id}"):
            # For all jobs, because this process would postpone those of the account one by one.
            raise RetryLater("lock", seconds=LOCK_PAUSE, for_all=True)
        current = MemoryEntry.objects.of(account_id).current()
        entries = list(current.filter(pk__in=ids).order_by("pk"))
        _replace_edges(account_id, list({*ids} - {entry.pk for entry in entries}), {})
        number = 0
        # Each entity is a group of its own: its mentions include edges of the memories before it.
        for _entity, group in groupby(entries, lambda each: each.kind == Kind.ENTITY and each.pk):
            together = list(group)
            weights = _weigh_related(account_id, _list_close(together, audiences, model))
            for entry in together:
                weights |= _weigh_mentions(entry, audiences)
            _replace_edges(account_id, [entry.pk for entry in together], weights)
            number += len(weights)
        return number


class _Audiences:
    """The memories that may be joined with those of an audience, for one run of `derive_edges`."""

    def __init__(self, account_id: UUID) -> None:
        self.account_id = account_id
        self.simple = cache(self._select_simple)
        self.entities = cache(self._list_entities)

    def rows(self, audience: Audience) -> EntryQuerySet:
        current = MemoryEntry.objects.of(self.account_id).current()
        return current.filter(**audience.fields)

    def _select_simple(self, audience: Audience) -> AllowedObjects:
        return AllowedObjects.from_queryset(self.rows(audience).exclude(kind__in=COMPOSITE_KINDS))

    def _list_entities(self, audience: Audience) -> list[tuple[UUID, str]]:
        """Return the newest entities and their names."""
        rows = self.rows(audience).filter(kind=Kind.ENTITY).order_by("-pk")
        entities = rows.values_list("pk", "title", "content")[:MAX_ENTITIES]
        return [(pk, title or content) for pk, title, content in entities]


def _list_close(
    entries: Sequence[MemoryEntry], audiences: _Audiences, model: EmbeddingModel
) -> dict[UUID, dict[UUID, float]]:
    """Return the nearest memories of each entry and their closeness, nearest first."""
    meanings = load_meanings([each for each in entries if each.kind not in COMPOSITE_KINDS], model)
    by_audience: dict[Audience, dict[UUID, QueryVector]] = {}
    for entry in entries:
        if meaning := meanings.get(entry.pk):
            by_audience.setdefault(Audience.of_entry(entry), {})[entry.pk] = meaning
    close: dict[UUID, dict[UUID, float]] = {entry.pk: {} for entry in entries}
    scale = build_cosine_scale(model)
    collection = Collection(account_id=audiences.account_id, name=COLLECTION)
    for audience, queries in by_audience.items():
        within = audiences.simple(audience)
        nearest = find_nearest_of_each(collection, queries, within=within, limit=NEAREST)
        for pk, cosines in nearest.items():
            for other, cosine in cosines.items():
                score = compute_closeness(cosine, low=scale.low, high=scale.high)
                if score >= MIN_CLOSENESS:
                    close[pk][UUID(other)] = score
    return close


def _weigh_related(account_id: UUID, close: Mapping[UUID, Mapping[UUID, float]]) -> _Weights:
    """Return the edges to related memories. Each entry considers the edges of those before it."""
    ends = {*close, *(pk for scores in close.values() for pk in scores)}
    incoming: dict[UUID, set[UUID]] = {pk: set() for pk in ends}
    derived: dict[UUID, set[UUID]] = {pk: set() for pk in ends}  # outgoing, to be replaced
    edges = MemoryEdge.objects.of(account_id).filter(type=Type.RELATED_TO, dst__in=ends)
    for src, dst, origin in edges.values_list("src_id", "dst_id", "origin"):
        incoming[dst].add(src)
        if origin == MemoryEdge.Origin.DERIVED and src in derived:
            derived[src].add(dst)
    weights: _Weights = {}
    for pk, scores in close.items():
        for dst in derived[pk]:
            incoming[dst].discard(pk)
        available = [
            dst
            for dst in scores
            if dst not in incoming[pk] and len(incoming[dst] - {pk}) < MAX_INCOMING
        ]
        for dst in available[:MAX_RELATED]:
            incoming[dst].add(pk)
            weights[pk, dst, Type.RELATED_TO.value] = round(RELATED_WEIGHT * scores[dst], 3)
    return weights


def load_meanings(entries: Sequence[MemoryEntry], model: EmbeddingModel) -> dict[UUID, QueryVector]:
    """Return the vectors of entries of one account for a model, by id. Some may have none."""
    if not entries:
        return {}
    vectors = Vector.objects.of(entries[0].account_id).filter(
        collection=COLLECTION, model=model, part=0, state=Vector.State.READY
    )
    rows = vectors.filter(object_id__in=[entry.pk for entry in entries])
    return {
        pk: QueryVector.from_floats(model, embedding)
        for pk, embedding in rows.values_list("object_id", "embedding")
        if embedding is not None
    }


def _weigh_mentions(entry: MemoryEntry, audiences: _Audiences) -> _Weights:
    """Return the edges to the entities that a memory names, or those to an entity."""
    if entry.kind == Kind.ENTITY:
        pairs = [(pk, entry.pk) for pk in _list_mentioning(entry, audiences)]
    elif entry.kind == Kind.TOPIC:
        pairs = []
    else:
        pairs = [(entry.pk, pk) for pk in _list_mentioned(entry, audiences)]
    return {(src, dst, Type.MENTIONS.value): MENTION_WEIGHT for src, dst in pairs}


def _list_mentioned(entry: MemoryEntry, audiences: _Audiences) -> list[UUID]:
    is_named = build_name_matcher(f"{entry.title}\n{entry.content}", entry.entities)
    entities = audiences.entities(Audience.of_entry(entry))
    return [pk for pk, name in entities if is_named(name)][:MAX_MENTIONS]


def _list_mentioning(entity: MemoryEntry, audiences: _Audiences) -> list[UUID]:
    name = entity.title or entity.content
    collection = Collection(account_id=entity.account_id, name=COLLECTION)
    audience = Audience.of_entry(entity)
    within = audiences.simple(audience)
    words = load_weighted_terms(collection, extract_terms(name))
    candidates = find_best_by_words(collection, words, within=within, limit=MENTION_CANDIDATES)
    # Existing edges are checked as well: the entity may have another name now.
    edges = MemoryEdge.objects.of(entity.account_id).filter(dst=entity, type=Type.MENTIONS)
    existing = edges.filter(origin=MemoryEdge.Origin.DERIVED).values_list("src_id", flat=True)
    rows = audiences.rows(audience).filter(pk__in={*candidates, *existing}).order_by("pk")
    return [
        row.pk
        for row in rows
        if build_name_matcher(f"{row.title}\n{row.content}", row.entities)(name)
    ]


def _replace_edges(account_id: UUID, ids: Sequence[UUID], weights: Mapping[EdgeKey, float]) -> None:
    """Make these edges the only derived ones of these memories."""
    own = Q(src__in=ids) | Q(dst__in=ids, type=Type.MENTIONS)
    rows = _derived_edges(account_id).filter(own, type__in=(Type.RELATED_TO, Type.MENTIONS))
    _replace_rows(account_id, rows, weights)


def _derived_edges(account_id: UUID) -> AccountQuerySet[MemoryEdge]:
    return MemoryEdge.objects.of(account_id).filter(origin=MemoryEdge.Origin.DERIVED)


def _replace_rows(
    account_id: UUID, rows: Iterable[MemoryEdge], weights: Mapping[EdgeKey, float]
) -> set[UUID]:
    """Replace these rows by edges with these weights. Return the ends of edges that changed."""
    existing = {(edge.src_id, edge.dst_id, edge.type): edge for edge in rows}
    stale = {key: edge.pk for key, edge in existing.items() if weights.get(key) != edge.weight}
    missing = [key for key in weights if key not in existing or key in stale]
    if stale:
        MemoryEdge.objects.of(account_id).filter(pk__in=stale.values()).delete()
    MemoryEdge.objects.bulk_create(
        [build_derived_edge(account_id, *key, weight=weights[key]) for key in missing],
        ignore_conflicts=True,  # an agent may have written the same edge
        batch_size=500,
    )
    return {dst for _src, dst, _type in (*stale, *missing)}


def build_derived_edge(
    account_id: UUID, src: UUID, dst: UUID, edge_type: str, *, weight: float
) -> MemoryEdge:
    return MemoryEdge(
        id=uuid7(),
        account_id=account_id,
        src_id=src,
        dst_id=dst,
        type=edge_type,
        weight=weight,
        origin=MemoryEdge.Origin.DERIVED,
        created_at=timezone.now(),
    )


def derive_run_order(account_id: UUID, ids: Sequence[UUID]) -> int:
    """Update the `next` edges around entries that joined or left a run, and return their number.

    This removes edges that skip a new entry, and those of entries that left the run. A memory whose
    predecessor or its text changed is embedded in its context again.
    """
    with acting(account_id):
        _lock_runs(account_id, ids)
        next_edges = _derived_edges(account_id).filter(type=Type.NEXT)
        adjacent = next_edges.filter(Q(src__in=ids) | Q(dst__in=ids))
        former = {end for edge in adjacent for end in (edge.src_id, edge.dst_id)}
        rows = load_neighbours(account_id, list({*ids, *former}))
        pairs = {(row.before_id, row.pk) for row in rows if row.before_id}
        pairs |= {(row.pk, row.after_id) for row in rows if row.after_id}
        replaced = next_edges.filter(
            Q(src__in={*ids, *(src for src, _dst in pairs)})
            | Q(dst__in={*ids, *(dst for _src, dst in pairs)})
        )
        weights = {(*pair, Type.NEXT.value): NEXT_WEIGHT for pair in pairs}
        changed = _replace_rows(account_id, replaced, weights)
        changed |= {row.after_id for row in rows if row.after_id and row.pk in ids}
        enqueue_contexts(account_id, sorted(changed - {*ids}))
        return len(pairs)


def _lock_runs(account_id: UUID, ids: Sequence[UUID]) -> None:
    """Allow one job per run at a time: two jobs would not see each other's entries."""
    entries = MemoryEntry.objects.of(account_id).filter(pk__in=ids)
    for user_id, run_id in sorted(set(entries.values_list("user_id", "run_id"))):
        lock_until_commit(f"run\x1f{account_id}\x1f{user_id}\x1f{run_id}")
