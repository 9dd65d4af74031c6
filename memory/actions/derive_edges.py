"""What memories have to do with each other: derived edges, never in the ledger.

`related_to` leads from a memory to the few that mean most nearly the same; `mentions` from a memory
to those that stand for something it names. Both join memories of one audience only, so an edge
never says of anyone's memory that another's is like it. Doing it again changes nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from django.db import connection
from django.db.models import Q
from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.database.ids import uuid7
from kmapp.providers.active import active_model
from kmapp.providers.models import EmbeddingModel
from kmapp.search.models import Vector
from kmapp.search.queries import (
    Collection,
    Meaning,
    Within,
    best_by_words,
    nearest,
    weigh,
)
from kmapp.search.query_vector import scale_of
from kmapp.text.terms import terms
from memory.models import EntryQuerySet, MemoryEdge, MemoryEntry
from memory.models.entries import COLLECTION
from memory.retrieval.visibility import Audience
from memory.review.similarity import closeness
from memory.topics.names import named_in

Kind, Type = MemoryEntry.Kind, MemoryEdge.Type
NAMES = (Kind.ENTITY,)  # what stands for something that others name
DERIVED_KINDS = (Kind.ENTITY, Kind.TOPIC)
MIN_CLOSENESS = 0.3  # see `closeness`: from here on a memory is near another
MAX_RELATED = 5  # that a memory leads to, at most
MAX_INCOMING = 10  # memories that lead to one, at most: no hub grows
MAX_INSPECTED = 20  # of the nearest: some are led to often enough
MENTIONED = 10  # by one memory, at most
MENTIONING = 50  # memories that are looked through for a new name
MAX_NAMES = 500  # of one audience, the newest
RELATED_WEIGHT, MENTION_WEIGHT = 0.4, 0.3  # less than what people or agents drew


def derive_edges(account_id: UUID, ids: Sequence[UUID]) -> int:
    """Draw the edges of these memories, and take away those that no longer hold.

    Returns how many there are now. Opens `acting` itself.
    """
    model = active_model()
    with acting(account_id):
        _hold(account_id)
        entries = list(_current(account_id).filter(pk__in=ids).order_by("pk"))
        gone = [pk for pk in ids if pk not in {entry.pk for entry in entries}]
        _redraw(account_id, gone, {})
        drawn = 0
        for entry in entries:
            target_edges = _related(entry, model) | _mentions(entry)
            drawn += _redraw(account_id, [entry.pk], target_edges)
        return drawn


_Name = tuple[UUID, UUID, str]  # from, to, type
_Edges = dict[_Name, float]  # their weights


def _current(account_id: UUID) -> EntryQuerySet:
    return MemoryEntry.objects.of(account_id).current()


def _comparable_entries(entry: MemoryEntry) -> EntryQuerySet:
    """Other memories that the very same people are told."""
    own = Audience.of_entry(entry).fields
    return _current(entry.account_id).filter(**own).exclude(pk=entry.pk)


def _related(entry: MemoryEntry, model: EmbeddingModel) -> _Edges:
    """Return the nearest memories, each with its closeness."""
    meaning = None if entry.kind in DERIVED_KINDS else _meaning(entry, model)
    if meaning is None:
        return {}
    collection = Collection(account_id=entry.account_id, name=COLLECTION)
    within = Within.of(_comparable_entries(entry).exclude(kind__in=DERIVED_KINDS))
    nearest_ids = nearest(collection, meaning, within=within, limit=MAX_INSPECTED)
    scale = scale_of(model)
    close = {
        UUID(pk): how
        for pk, cosine in nearest_ids.items()
        if (how := closeness(cosine, low=scale.low, high=scale.high)) >= MIN_CLOSENESS
    }
    open_to = _open_to(entry, close)
    related = [pk for pk in close if pk in open_to][:MAX_RELATED]
    return {
        (entry.pk, pk, Type.RELATED_TO.value): round(RELATED_WEIGHT * close[pk], 3)
        for pk in related
    }


def _open_to(entry: MemoryEntry, ids: Iterable[UUID]) -> set[UUID]:
    """Those of these that do not lead here themselves, and to which not too many lead."""
    these, leading = set(ids), dict[UUID, int]()
    edges = MemoryEdge.objects.of(entry.account_id).filter(type=Type.RELATED_TO)
    back = edges.filter(dst=entry.pk, src__in=these).values_list("src_id", flat=True)
    others = edges.filter(dst__in=these).exclude(src=entry.pk)
    for dst in others.values_list("dst_id", flat=True):
        leading[dst] = leading.get(dst, 0) + 1
    return {pk for pk in these - {*back} if leading.get(pk, 0) < MAX_INCOMING}


def _meaning(entry: MemoryEntry, model: EmbeddingModel) -> Meaning | None:
    vectors = Vector.objects.of(entry.account_id).filter(
        collection=COLLECTION,
        object_id=entry.pk,
        model=model,
        part=0,
        state=Vector.State.READY,
    )
    vector = vectors.values_list("embedding", flat=True).first()
    return None if vector is None else Meaning.of(model, list(vector))


def _mentions(entry: MemoryEntry) -> _Edges:
    """To what it names; and from what names it, if it is what others name."""
    if entry.kind in NAMES:
        pairs = [(pk, entry.pk) for pk in _naming(entry)]
    elif entry.kind == Kind.TOPIC:
        pairs = []
    else:
        pairs = [(entry.pk, pk) for pk in _named(entry)]
    return {(src, dst, Type.MENTIONS.value): MENTION_WEIGHT for src, dst in pairs}


def _named(entry: MemoryEntry) -> list[UUID]:
    rows = _comparable_entries(entry).filter(kind__in=NAMES).order_by("-pk")
    has = named_in(f"{entry.title}\n{entry.content}", entry.entities)
    candidates = rows.values_list("pk", "title", "content")[:MAX_NAMES]
    return [pk for pk, title, content in candidates if has(title or content)][:MENTIONED]


def _naming(entity: MemoryEntry) -> list[UUID]:
    """Memories with the words of its name, of which those are kept that really name it."""
    name = entity.title or entity.content
    collection = Collection(account_id=entity.account_id, name=COLLECTION)
    within = Within.of(_comparable_entries(entity).exclude(kind__in=DERIVED_KINDS))
    words = weigh(collection, terms(name))
    matches = best_by_words(collection, words, within=within, limit=MENTIONING)
    # And those that were drawn from the other side: what they name may have another name now.
    drawn = MemoryEdge.objects.of(entity.account_id).filter(dst=entity, type=Type.MENTIONS)
    candidates = drawn.filter(origin=MemoryEdge.Origin.DERIVED).values_list("src_id", flat=True)
    rows = _comparable_entries(entity).filter(pk__in={*matches, *candidates}).order_by("pk")
    return [row.pk for row in rows if named_in(f"{row.title}\n{row.content}", row.entities)(name)]


def _redraw(account_id: UUID, ids: Sequence[UUID], target_edges: Mapping[_Name, float]) -> int:
    """Make these the derived edges that belong to these memories."""
    own = Q(src__in=ids) | Q(dst__in=ids, type=Type.MENTIONS)
    rows = MemoryEdge.objects.of(account_id).filter(
        own, origin=MemoryEdge.Origin.DERIVED, type__in=(Type.RELATED_TO, Type.MENTIONS)
    )
    there = {(edge.src_id, edge.dst_id, edge.type): edge for edge in rows}
    stale = [edge.pk for name, edge in there.items() if target_edges.get(name) != edge.weight]
    if stale:
        MemoryEdge.objects.of(account_id).filter(pk__in=stale).delete()
    now = timezone.now()
    MemoryEdge.objects.bulk_create(
        [
            MemoryEdge(
                id=uuid7(),
                account_id=account_id,
                src_id=src,
                dst_id=dst,
                type=kind,
                weight=weight,
                origin=MemoryEdge.Origin.DERIVED,
                created_at=now,
            )
            for (src, dst, kind), weight in target_edges.items()
            if (src, dst, kind) not in there or there[src, dst, kind].weight != weight
        ],
        ignore_conflicts=True,  # an agent may have drawn it
    )
    return len(target_edges)


def _hold(account_id: UUID) -> None:
    """One job at a time: two would not see each other's edges, and draw them both ways."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended('relate:' || %s, 0))", [str(account_id)]
        )
