"""Growth of topics from similar memories. Each run is one commit, or none if nothing changes.

A topic is a memory of kind topic: a draft that agents cannot see until it has enough members.
Membership is derived and stored as edges. All members of a topic have the same audience.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.accounts.models import AccountQuerySet
from kmapp.database.advisory_locks import lock_until_commit
from kmapp.ledger.actions import Recording, recording
from kmapp.providers.active import active_model
from kmapp.search.models import Vector
from memory.actions.edges import build_derived_edge
from memory.actions.entries import write_within_commit
from memory.actions.versions import lock_entry, update_entry
from memory.models import ErasedEntry, MemoryEdge, MemoryEntry, MemoryVersion
from memory.models.entries import COLLECTION
from memory.models.entry_input import Batch, NewEntry, derive_entry_id
from memory.retrieval.visibility import Audience
from memory.topics.clustering import NONE, Graph, grow, neighbours
from memory.topics.labels import Background

MIN_EVENTS_PER_TOPIC = 5
MAX_GROUP = 5_000  # memories of one audience in a run, the newest
REASON = "Memories that belong together."
WEIGHT = 0.5
Kind, Status, Type = MemoryEntry.Kind, MemoryEntry.Status, MemoryEdge.Type
CURRENT_STATUSES = (Status.DRAFT, Status.ACTIVE)


@dataclass(slots=True)
class GrowthResult:
    """Numbers of one run, and the groups that it examined."""

    created: int = 0
    joined: int = 0  # memories that became members of a topic
    unassigned: int = 0  # memories without a topic
    groups: Sequence["Group"] = ()


@dataclass(frozen=True, slots=True)
class Group:
    """Memories of one audience in the order of their ids, and the graph of their neighbours."""

    audience: Audience
    ids: Sequence[UUID]
    texts: Sequence[str]
    graph: Graph

    def number_topics(self, topics: Mapping[UUID, UUID]) -> tuple[list[UUID], list[int]]:
        """Return the topics of the memories, and the index of each memory's topic or NONE."""
        topic_ids = sorted({topics[pk] for pk in self.ids if pk in topics})
        index = {topic: i for i, topic in enumerate(topic_ids)}
        return topic_ids, [index[topics[pk]] if pk in topics else NONE for pk in self.ids]


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicChange:
    """Memories that join an existing topic, or a new one with this name."""

    audience: Audience
    ids: Sequence[UUID]
    topic: UUID | None = None
    name: str = ""


def grow_topics(account_id: UUID, actor: Actor) -> GrowthResult:
    """Assign topics to memories that have none. The transaction opens after the computation."""
    with acting(account_id):
        groups, topics = _load_groups(account_id), find_topics(account_id)
    run, changes = GrowthResult(groups=groups), list[TopicChange]()
    for group in groups:
        topic_ids, before = group.number_topics(topics)
        grown = grow(group.graph, before)
        run.unassigned += grown.topics.count(NONE)
        members: dict[int, list[int]] = defaultdict(list)
        for place, topic in enumerate(grown.topics):
            if topic != before[place]:
                members[topic].append(place)
        if members:
            changes += _plan_changes(group, topic_ids, members)
    if changes:
        with acting(account_id):
            lock_topics(account_id)
            with recording(account_id, actor, reason=REASON) as commit:
                for change in changes:
                    _apply_change(commit, change, run)
    return run


def _plan_changes(
    group: Group, topic_ids: Sequence[UUID], members: Mapping[int, Sequence[int]]
) -> Iterator[TopicChange]:
    """Yield the changes. New topics are named by the words that set them apart in the group."""
    background = Background(group.texts)
    for topic, places in sorted(members.items()):
        ids = [group.ids[place] for place in places]
        if topic < len(topic_ids):
            yield TopicChange(audience=group.audience, ids=ids, topic=topic_ids[topic])
        else:
            name = background.name([group.texts[place] for place in places])
            yield TopicChange(audience=group.audience, ids=ids, name=name)


def _apply_change(commit: Recording, change: TopicChange, run: GrowthResult) -> None:
    """Apply a change, unless a person has removed the same new topic before."""
    account_id, ids, scope = commit.account_id, change.ids, change.audience.scope
    if change.topic:
        create_member_edges(account_id, change.topic, ids)
        update_member_count(commit, change.topic)
    else:
        client_id = f"topic:{min(ids)}"
        erased = ErasedEntry.objects.of(account_id)
        if (
            MemoryEntry.objects.of(account_id).filter(scope=scope, client_id=client_id).exists()
            or erased.filter(pk=derive_entry_id(account_id, scope, client_id)).exists()
        ):
            return
        status = _status(Status.DRAFT, len(ids))
        create_topic(commit, change, client_id, status)
        run.created += 1
    run.joined += len(ids)


def create_topic(
    commit: Recording, change: TopicChange, client_id: str, status: str
) -> MemoryEntry:
    draft = NewEntry(
        text=change.name,
        title=change.name,
        kind=Kind.TOPIC,
        client_id=client_id,
        metadata={"member_count": len(change.ids)},
        **change.audience._asdict(),
    )
    batch = Batch(entries=[draft], reason=commit.reason, embed=False, status=status)
    topic = write_within_commit(commit, batch).entries[0]
    create_member_edges(commit.account_id, topic.pk, change.ids)
    return topic


def _status(before: str, members: int) -> str:
    """Return the status of a topic: a draft with enough members becomes active."""
    is_ready = before == Status.DRAFT and members >= MIN_EVENTS_PER_TOPIC
    return Status.ACTIVE if is_ready else before


def create_member_edges(account_id: UUID, topic: UUID, ids: Sequence[UUID]) -> None:
    keys = [(pk, topic, Type.PART_OF) for pk in ids]
    keys += [(topic, pk, Type.DERIVED_FROM) for pk in ids]
    edges = [build_derived_edge(account_id, *key, weight=WEIGHT) for key in keys]
    MemoryEdge.objects.bulk_create(edges, ignore_conflicts=True, batch_size=500)


def member_edges(account_id: UUID, topic: UUID) -> AccountQuerySet[MemoryEdge]:
    """Return the edges from members of the topic and of topics that were merged into it."""
    topics, added = {topic}, {topic}
    while added:
        added = set(_merge_edges(account_id).filter(src__in=added).values_list("dst_id", flat=True))
        added -= topics
        topics |= added
    return MemoryEdge.objects.of(account_id).filter(dst__in=topics, type=Type.PART_OF)


def _merge_edges(account_id: UUID) -> AccountQuerySet[MemoryEdge]:
    """Return the edges from topics to those that are merged into them."""
    return MemoryEdge.objects.of(account_id).filter(
        type=Type.SUPERSEDES, dst__kind=Kind.TOPIC, dst__status=Status.SUPERSEDED
    )


def update_member_count(commit: Recording, pk: UUID) -> None:
    """Store the number of members; a draft with enough members becomes active."""
    topic = lock_entry(commit.account_id, pk)
    number = member_edges(commit.account_id, pk).count()
    slots = {**topic.slots, "member_count": number}
    values = {"slots": slots, "status": _status(topic.status, number)}
    update_entry(topic, MemoryVersion.Event.UPDATE, values, commit, reason=REASON)


def _load_groups(account_id: UUID) -> list[Group]:
    rows = MemoryEntry.objects.of(account_id).current().exclude(kind__in=[Kind.TOPIC, Kind.ENTITY])
    by_audience: dict[Audience, list[tuple[UUID, str]]] = defaultdict(list)
    names = ("pk", "content", "scope", "visibility", "user_id", "agent_id", "run_id")
    for pk, text, *owner in rows.order_by("-pk").values_list(*names).iterator():
        if len(group := by_audience[Audience.of(*owner)]) < MAX_GROUP:
            group.append((pk, text))
    groups = []
    for audience, entries in sorted(by_audience.items()):
        vectors = load_vectors(account_id, [pk for pk, _ in entries])
        texts = {pk: text for pk, text in sorted(entries) if pk in vectors}
        if texts:
            graph = neighbours(np.array([vectors[pk] for pk in texts], dtype=np.float32))
            groups.append(
                Group(audience=audience, ids=list(texts), texts=list(texts.values()), graph=graph)
            )
    return groups


def load_vectors(account_id: UUID, ids: Sequence[UUID]) -> dict[UUID, Any]:
    """Return the vectors of those memories that are embedded by the active model."""
    ready = Vector.objects.of(account_id).filter(
        collection=COLLECTION, part=0, model=active_model().pk, state=Vector.State.READY
    )
    return dict(ready.filter(object_id__in=ids).values_list("object_id", "embedding"))


def find_topics(account_id: UUID, ids: Sequence[UUID] | None = None) -> dict[UUID, UUID]:
    """Return the current topic of each memory, following merges; without `ids`, of all memories."""
    merges = dict(_merge_edges(account_id).order_by("-src_id").values_list("dst_id", "src_id"))
    edges = MemoryEdge.objects.of(account_id).filter(type=Type.PART_OF, dst__kind=Kind.TOPIC)
    if ids is not None:
        edges = edges.filter(src__in=ids)
    memberships = edges.order_by("-dst_id").values_list("src_id", "dst_id", "dst__status")
    topics: dict[UUID, UUID] = {}
    for memory, topic, status in memberships:
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


def lock_topics(account_id: UUID) -> None:
    """Allow one run at a time: two runs would create the same topics."""
    lock_until_commit(f"topics:{account_id}")
