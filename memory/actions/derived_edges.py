"""Edges that workers derive from memories. The ledger does not record them.

`related_to` leads from a memory to the few with the most similar meaning, `mentions` to the
entities that it names, and `next` to the following memory of the same run. Related and mentioned
memories always have the same audience, so that an edge reveals nothing about the memories of other
people. Deriving the edges again changes nothing.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from django.db.models import Q

from kmapp.accounts.acting import acting
from kmapp.accounts.models import AccountQuerySet
from kmapp.database.advisory_locks import lock_until_commit
from kmapp.providers.active import active_model
from kmapp.providers.models import EmbeddingModel
from kmapp.search.models import Vector
from kmapp.search.queries import Collection, Meaning, Within, best_by_words, nearest, weigh
from kmapp.search.query_vector import scale_of
from kmapp.text.terms import terms
from memory.actions.edges import EdgeKey, build_derived_edge
from memory.actions.embeddings import enqueue_contexts
from memory.models import EntryQuerySet, MemoryEdge, MemoryEntry
from memory.models.entries import COLLECTION
from memory.retrieval.run_order import neighbours
from memory.retrieval.visibility import Audience
from memory.review.similarity import closeness
from memory.topics.names import named_in

Kind, Type = MemoryEntry.Kind, MemoryEdge.Type
COMPOSITE_KINDS = (Kind.ENTITY, Kind.TOPIC)  # these represent other memories
MIN_CLOSENESS = 0.3  # of related memories; see `closeness`
MAX_RELATED = 5  # edges from one memory
MAX_INCOMING = 10  # edges to one memory, so that no memory becomes a hub
NEAREST = 20  # candidates, some of which already have enough incoming edges
MAX_MENTIONS = 10  # of one memory
MENTION_CANDIDATES = 50  # memories that are checked for the name of a new entity
MAX_ENTITIES = 500  # of one audience, the newest
RELATED_WEIGHT, MENTION_WEIGHT = 0.4, 0.3  # less than edges of people or agents
NEXT_WEIGHT = 0.5

_Weights = dict[EdgeKey, float]


def derive_edges(account_id: UUID, ids: Sequence[UUID]) -> int:
    """Replace the `related_to` and `mentions` edges of these memories, and return their number.

    Opens `acting` itself. Only one job of an account runs at a time: two jobs would not see each
    other's edges and would join the same memories in both directions.
    """
    model = active_model()
    with acting(account_id):
        lock_until_commit(f"relate:{account_id}")
        current = MemoryEntry.objects.of(account_id).current()
        entries = list(current.filter(pk__in=ids).order_by("pk"))
        removed = [pk for pk in ids if pk not in {entry.pk for entry in entries}]
        _replace_edges(account_id, removed, {})
        number = 0
        for entry in entries:
            weights = _weigh_related(entry, model) | _weigh_mentions(entry)
            _replace_edges(account_id, [entry.pk], weights)
            number += len(weights)
        return number


def _same_audience(entry: MemoryEntry) -> EntryQuerySet:
    current = MemoryEntry.objects.of(entry.account_id).current()
    return current.filter(**Audience.of_entry(entry).fields).exclude(pk=entry.pk)


def _weigh_related(entry: MemoryEntry, model: EmbeddingModel) -> _Weights:
    meaning = None if entry.kind in COMPOSITE_KINDS else load_meaning(entry, model)
    if meaning is None:
        return {}
    collection = Collection(account_id=entry.account_id, name=COLLECTION)
    within = Within.of(_same_audience(entry).exclude(kind__in=COMPOSITE_KINDS))
    cosines = nearest(collection, meaning, within=within, limit=NEAREST)
    scale = scale_of(model)
    close = {
        UUID(pk): score
        for pk, cosine in cosines.items()
        if (score := closeness(cosine, low=scale.low, high=scale.high)) >= MIN_CLOSENESS
    }
    edges = MemoryEdge.objects.of(entry.account_id).filter(type=Type.RELATED_TO)
    reverse = set(edges.filter(dst=entry.pk, src__in=close).values_list("src_id", flat=True))
    others = edges.filter(dst__in=close).exclude(src=entry.pk)
    incoming = Counter(others.values_list("dst_id", flat=True))
    available = [pk for pk in close if pk not in reverse and incoming[pk] < MAX_INCOMING]
    return {
        (entry.pk, pk, Type.RELATED_TO.value): round(RELATED_WEIGHT * close[pk], 3)
        for pk in available[:MAX_RELATED]
    }


def load_meaning(entry: MemoryEntry, model: EmbeddingModel) -> Meaning | None:
    """Return the vector of an entry for a model, or None while it has none."""
    vectors = Vector.objects.of(entry.account_id).filter(
        collection=COLLECTION, object_id=entry.pk, model=model, part=0, state=Vector.State.READY
    )
    vector = vectors.values_list("embedding", flat=True).first()
    return None if vector is None else Meaning.of(model, list(vector))


def _weigh_mentions(entry: MemoryEntry) -> _Weights:
    """Return the edges to the entities that a memory names, or those to an entity."""
    if entry.kind == Kind.ENTITY:
        pairs = [(pk, entry.pk) for pk in _list_mentioning(entry)]
    elif entry.kind == Kind.TOPIC:
        pairs = []
    else:
        pairs = [(entry.pk, pk) for pk in _list_mentioned(entry)]
    return {(src, dst, Type.MENTIONS.value): MENTION_WEIGHT for src, dst in pairs}


def _list_mentioned(entry: MemoryEntry) -> list[UUID]:
    rows = _same_audience(entry).filter(kind=Kind.ENTITY).order_by("-pk")
    is_named = named_in(f"{entry.title}\n{entry.content}", entry.entities)
    entities = rows.values_list("pk", "title", "content")[:MAX_ENTITIES]
    return [pk for pk, title, content in entities if is_named(title or content)][:MAX_MENTIONS]


def _list_mentioning(entity: MemoryEntry) -> list[UUID]:
    name = entity.title or entity.content
    collection = Collection(account_id=entity.account_id, name=COLLECTION)
    within = Within.of(_same_audience(entity).exclude(kind__in=COMPOSITE_KINDS))
    words = weigh(collection, terms(name))
    candidates = best_by_words(collection, words, within=within, limit=MENTION_CANDIDATES)
    # Existing edges are checked as well: the entity may have another name now.
    edges = MemoryEdge.objects.of(entity.account_id).filter(dst=entity, type=Type.MENTIONS)
    existing = edges.filter(origin=MemoryEdge.Origin.DERIVED).values_list("src_id", flat=True)
    rows = _same_audience(entity).filter(pk__in={*candidates, *existing}).order_by("pk")
    return [row.pk for row in rows if named_in(f"{row.title}\n{row.content}", row.entities)(name)]


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
        rows = neighbours(account_id, list({*ids, *former}))
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
