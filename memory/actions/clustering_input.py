"""Memories of each audience, in groups that fit in memory, with their topics."""

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from django.db.models import Count

from kmapp.accounts.acting import acting
from kmapp.accounts.models import AccountQuerySet
from kmapp.providers.active_models import active_model
from kmapp.search.models import Vector
from memory.models import EntryQuerySet, MemoryEdge, MemoryEntry
from memory.models.entries import COLLECTION
from memory.retrieval.shared_audience import SAME_AUDIENCE, Audience
from memory.topics.clustering import MIN_TOPIC_SIZE, NO_TOPIC, Graph, build_neighbour_graph
from memory.topics.labels import Background

# Memories that are clustered at once. A larger audience is read in pages: half of each are memories
# without a topic, the others are members of existing topics that they can join.
PAGE = 5_000
Kind, Status, Type = MemoryEntry.Kind, MemoryEntry.Status, MemoryEdge.Type
CURRENT_STATUSES = (Status.DRAFT, Status.ACTIVE)


@dataclass(frozen=True, slots=True)
class AudienceGroup:
    """Memories of one audience in the order of their ids, and the graph of their neighbours."""

    audience: Audience
    ids: Sequence[UUID]
    texts: Sequence[str]
    graph: Graph
    background: Background
    is_whole: bool  # False: a page of a larger audience

    def number_topics(self, topics: Mapping[UUID, UUID]) -> tuple[list[UUID], list[int]]:
        """Return the topics of the memories, and the index of each memory's topic or NO_TOPIC."""
        topic_ids = sorted({topics[pk] for pk in self.ids if pk in topics})
        index = {topic: i for i, topic in enumerate(topic_ids)}
        return topic_ids, [index[topics[pk]] if pk in topics else NO_TOPIC for pk in self.ids]


def find_audiences(account_id: UUID) -> list[Audience]:
    """Return the audiences that have enough memories for a topic."""
    rows = _clusterable(account_id).order_by()
    owners = rows.values_list(*Audience._fields).annotate(Count("pk"))
    numbers: Counter[Audience] = Counter()
    for *owner, number in owners.iterator():
        numbers[Audience.of(*owner)] += number
    return sorted(audience for audience, number in numbers.items() if number >= MIN_TOPIC_SIZE)


def _clusterable(account_id: UUID) -> EntryQuerySet:
    rows = MemoryEntry.objects.of(account_id).current()
    return rows.exclude(kind__in=[Kind.TOPIC, Kind.ENTITY])


def read_groups(
    account_id: UUID, audience: Audience, topics: Mapping[UUID, UUID], *, turn: int = 0
) -> Iterator[AudienceGroup]:
    """Yield the memories of an audience in groups.

    The caller adds the topics of a group to `topics` before it takes the next one. The number
    `turn` selects the page that comes first.
    """
    with acting(account_id):
        rows = _clusterable(account_id).filter(**audience.fields)
        ids = list(rows.order_by("-pk").values_list("pk", flat=True).iterator())
    if len(ids) <= PAGE:
        pages = iter([ids])
    else:
        unassigned = [pk for pk in ids if pk not in topics]
        starts = deque(range(0, len(unassigned), PAGE // 2))
        starts.rotate(-turn)
        pages = (
            [*unassigned[start : start + PAGE // 2], *_sample_members(ids, topics)]
            for start in starts
        )
    for page in pages:
        if group := _load_group(account_id, audience, page, is_whole=len(ids) <= PAGE):
            yield group


def _sample_members(ids: Sequence[UUID], topics: Mapping[UUID, UUID]) -> list[UUID]:
    """Return the newest members of each topic, equally many of each, at most half a page."""
    of_topic: dict[UUID, list[UUID]] = defaultdict(list)
    for pk in ids:
        if pk in topics:
            of_topic[topics[pk]].append(pk)
    max_members = max(MIN_TOPIC_SIZE, PAGE // 2 // max(1, len(of_topic)))
    sample = [pk for members in of_topic.values() for pk in members[:max_members]]
    return sample[: PAGE // 2]


def _load_group(
    account_id: UUID, audience: Audience, ids: Sequence[UUID], *, is_whole: bool
) -> AudienceGroup | None:
    """Return these memories without small talk, which would be a topic of its own."""
    with acting(account_id):
        vectors = load_vectors(account_id, ids)
        rows = MemoryEntry.objects.of(account_id).filter(pk__in=list(vectors)).order_by("pk")
        texts = dict(rows.values_list("pk", "content"))
    background = Background(list(texts.values()))
    texts = {pk: text for pk, text in texts.items() if not background.is_small_talk(text)}
    if not texts:
        return None
    return AudienceGroup(
        audience=audience,
        ids=list(texts),
        texts=list(texts.values()),
        graph=build_neighbour_graph(np.array([vectors[pk] for pk in texts], dtype=np.float32)),
        background=background,
        is_whole=is_whole,
    )


def merge_edges(account_id: UUID) -> AccountQuerySet[MemoryEdge]:
    """Return the edges from topics to those that are merged into them."""
    return MemoryEdge.objects.of(account_id).filter(
        type=Type.SUPERSEDES, dst__kind=Kind.TOPIC, dst__status=Status.SUPERSEDED
    )


def load_vectors(account_id: UUID, ids: Sequence[UUID]) -> dict[UUID, Any]:
    """Return the vectors of those memories that are embedded by the active model."""
    ready = Vector.objects.of(account_id).filter(
        collection=COLLECTION, part=0, model=active_model().pk, state=Vector.State.READY
    )
    return dict(ready.filter(object_id__in=ids).values_list("object_id", "embedding"))


def find_topics(account_id: UUID, ids: Sequence[UUID] | None = None) -> dict[UUID, UUID]:
    """Return the current topic of each memory, following merges; without `ids`, of all memories.

    Agents can write an edge to a topic of another audience; such an edge is ignored.
    """
    merged = merge_edges(account_id).filter(SAME_AUDIENCE)
    merges = dict(merged.order_by("-src_id").values_list("dst_id", "src_id"))
    edges = MemoryEdge.objects.of(account_id).filter(type=Type.PART_OF, dst__kind=Kind.TOPIC)
    edges = edges.filter(SAME_AUDIENCE)
    if ids is not None:
        edges = edges.filter(src__in=ids)
    memberships = edges.order_by("-dst_id").values_list("src_id", "dst_id", "dst__status")
    topics: dict[UUID, UUID] = {}
    for memory, topic, status in memberships.iterator(chunk_size=PAGE):
        if status in CURRENT_STATUSES:
            topics[memory] = topic
        elif status == Status.SUPERSEDED and memory not in topics:
            topics[memory] = _follow_merges(merges, topic)
    current = MemoryEntry.objects.of(account_id).filter(
        pk__in=set(topics.values()), status__in=CURRENT_STATUSES
    )
    current_ids = set(current.values_list("pk", flat=True))
    return {memory: topic for memory, topic in topics.items() if topic in current_ids}


def _follow_merges(merges: Mapping[UUID, UUID], topic: UUID) -> UUID:
    """Return the topic that contains this one after all merges."""
    visited = set()
    while topic in merges and topic not in visited:
        visited.add(topic)
        topic = merges[topic]
    return topic
