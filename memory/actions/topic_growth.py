"""Letting topics grow out of memories. Each run is one commit, or none where nothing changes.

A topic is a memory of kind topic: a draft, which agents are not told, until enough belong to it.
Who belongs to it is derived, and drawn as edges. Memories of different people never meet in one.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

import numpy as np
from django.db import connection
from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.accounts.models import AccountQuerySet
from kmapp.database.ids import uuid7
from kmapp.ledger.actions import Recording, recording
from kmapp.providers.active import active_model
from kmapp.search.models import Vector
from memory.actions.entries import write_within_commit
from memory.actions.versions import lock_entry, update_entry
from memory.models import ErasedEntry, MemoryEdge, MemoryEntry, MemoryVersion
from memory.models.entries import COLLECTION
from memory.models.entry_input import Batch, NewEntry, derive_entry_id
from memory.retrieval.visibility import Audience
from memory.topics.clustering import NONE, Graph, grow, neighbours
from memory.topics.labels import Background

MIN_EVENTS_PER_TOPIC = 5
MOST = 5_000  # memories of one audience in a run, the newest
REASON = "Memories that belong together."
WEIGHT = 0.5
Kind, Status, Type = MemoryEntry.Kind, MemoryEntry.Status, MemoryEdge.Type
CURRENT_STATUSES = (Status.DRAFT, Status.ACTIVE)


@dataclass(slots=True)
class GrowthResult:
    """What one run came to."""

    created: int = 0
    joined: int = 0  # memories that belong to a topic now and did not before
    unassigned: int = 0  # memories that belong to none
    groups: Sequence["Group"] = ()  # what it looked at


@dataclass(frozen=True, slots=True)
class Group:
    """Memories that the same people see, in the order of their ids, and which are neighbours."""

    audience: Audience
    ids: Sequence[UUID]
    texts: Sequence[str]
    graph: Graph

    def numbered(self, topics: Mapping[UUID, UUID]) -> tuple[list[UUID], list[int]]:
        """Return the topics of the group's memories and the number of each memory's topic."""
        member_topics = sorted({topics[pk] for pk in self.ids if pk in topics})
        number = {topic: place for place, topic in enumerate(member_topics)}
        return member_topics, [number[topics[pk]] if pk in topics else NONE for pk in self.ids]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What is to be written of a group: who joins which topic, and which are founded of whom."""

    audience: Audience
    joining: list[tuple[UUID, list[UUID]]] = field(default_factory=list)
    founding: list[tuple[str, list[UUID]]] = field(default_factory=list)


def grow_topics(account_id: UUID, actor: Actor) -> GrowthResult:
    """Find topics for memories that have none. Reads, reckons and names outside of the commit."""
    with acting(account_id):
        groups, topics = _groups(account_id), find_topics(account_id)
    run, plans = GrowthResult(groups=groups), list[_Plan]()
    for group in groups:
        member_topics, before = group.numbered(topics)
        grown = grow(group.graph, before)
        run.unassigned += grown.topics.count(NONE)
        members: dict[int, list[int]] = defaultdict(list)
        for place, topic in enumerate(grown.topics):
            if topic != before[place]:
                members[topic].append(place)
        if members:
            plans.append(_planned(group, member_topics, members))
    if plans:
        with acting(account_id):
            lock_topics(account_id)
            with recording(account_id, actor, reason=REASON) as commit:
                for plan in plans:
                    _apply(commit, plan, run)
    return run


def _planned(
    group: Group, member_topics: Sequence[UUID], members: Mapping[int, Sequence[int]]
) -> _Plan:
    """Names are made here, of all the words of the group: nobody's write waits for that."""
    background = Background(group.texts)
    plan = _Plan(audience=group.audience)
    for topic, places in sorted(members.items()):
        ids = [group.ids[place] for place in places]
        if topic < len(member_topics):
            plan.joining.append((member_topics[topic], ids))
        else:
            name = background.name([group.texts[place] for place in places])
            plan.founding.append((name, ids))
    return plan


def _apply(commit: Recording, plan: _Plan, run: GrowthResult) -> None:
    for topic, ids in plan.joining:
        run.joined += create_member_edges(commit.account_id, topic, ids)
        update_member_count(commit, topic)
    for name, ids in plan.founding:
        founded = _create_topic(commit, plan.audience, ids, name)
        run.created += founded
        run.joined += len(ids) if founded else 0


def _create_topic(commit: Recording, audience: Audience, ids: Sequence[UUID], name: str) -> int:
    """Found the topic that begins with these, unless a person has put an end to it before."""
    client_id = f"topic:{min(ids)}"
    rows = MemoryEntry.objects.of(commit.account_id)
    erased = ErasedEntry.objects.of(commit.account_id)
    if (
        rows.filter(scope=audience.scope, client_id=client_id).exists()
        or erased.filter(pk=derive_entry_id(commit.account_id, audience.scope, client_id)).exists()
    ):
        return 0
    create_topic(commit, audience, ids, name, client_id, _status(Status.DRAFT, len(ids)))
    return 1


def create_topic(
    commit: Recording,
    audience: Audience,
    ids: Sequence[UUID],
    name: str,
    client_id: str,
    status: str,
) -> MemoryEntry:
    """Create a topic of these memories as part of a commit."""
    draft = NewEntry(
        text=name,
        title=name,
        kind=Kind.TOPIC,
        client_id=client_id,
        metadata={"member_count": len(ids)},
        **audience._asdict(),
    )
    batch = Batch(entries=[draft], reason=commit.reason, embed=False, status=status)
    topic = write_within_commit(commit, batch).entries[0]
    create_member_edges(commit.account_id, topic.pk, ids)
    return topic


def _status(before: str, members: int) -> str:
    """With enough members a draft comes of age."""
    grown = before == Status.DRAFT and members >= MIN_EVENTS_PER_TOPIC
    return Status.ACTIVE if grown else before


def create_member_edges(account_id: UUID, topic: UUID, ids: Sequence[UUID]) -> int:
    """Membership, both ways: seen from the memory and from the topic."""
    now = timezone.now()
    ends = [(pk, topic, Type.PART_OF) for pk in ids] + [
        (topic, pk, Type.DERIVED_FROM) for pk in ids
    ]
    edges = [
        MemoryEdge(
            id=uuid7(),
            account_id=account_id,
            src_id=src,
            dst_id=dst,
            type=kind,
            weight=WEIGHT,
            origin=MemoryEdge.Origin.DERIVED,
            created_at=now,
        )
        for src, dst, kind in ends
    ]
    MemoryEdge.objects.bulk_create(edges, ignore_conflicts=True, batch_size=500)
    return len(ids)


def member_edges(account_id: UUID, topic: UUID) -> AccountQuerySet[MemoryEdge]:
    """Return the edges from its members, including those of topics merged into it."""
    whole, create_topics = {topic}, {topic}
    while create_topics:
        create_topics = set(
            _merged(account_id).filter(src__in=create_topics).values_list("dst_id", flat=True)
        )
        create_topics -= whole
        whole |= create_topics
    return MemoryEdge.objects.of(account_id).filter(dst__in=whole, type=Type.PART_OF)


def _merged(account_id: UUID) -> AccountQuerySet[MemoryEdge]:
    """Edges from topics to those that were merged into them, and still are."""
    return MemoryEdge.objects.of(account_id).filter(
        type=Type.SUPERSEDES, dst__kind=Kind.TOPIC, dst__status=Status.SUPERSEDED
    )


def update_member_count(commit: Recording, pk: UUID) -> None:
    """Say how many belong to it; with enough, agents are told of it."""
    topic = lock_entry(commit.account_id, pk)
    number = member_edges(commit.account_id, pk).count()
    update_entry(
        topic,
        actor=commit.actor,
        event=MemoryVersion.Event.UPDATE,
        reason=REASON,
        values={
            "slots": {**topic.slots, "member_count": number},
            "status": _status(topic.status, number),
        },
        commit=commit,
    )


def _groups(account_id: UUID) -> list[Group]:
    rows = MemoryEntry.objects.of(account_id).current().exclude(kind__in=[Kind.TOPIC, Kind.ENTITY])
    seen: dict[Audience, list[tuple[UUID, str]]] = defaultdict(list)
    names = ("pk", "content", "scope", "visibility", "user_id", "agent_id", "run_id")
    for pk, text, *audience_values in rows.order_by("-pk").values_list(*names).iterator():
        if len(group := seen[Audience.of(*audience_values)]) < MOST:
            group.append((pk, text))
    groups = (_group(account_id, each, sorted(some)) for each, some in sorted(seen.items()))
    return [group for group in groups if group.ids]


def _group(account_id: UUID, audience: Audience, some: Sequence[tuple[UUID, str]]) -> Group:
    """Of those that have a vector."""
    ready = Vector.objects.of(account_id).filter(
        collection=COLLECTION,
        part=0,
        model=active_model().pk,
        state=Vector.State.READY,
        object_id__in=[pk for pk, _ in some],
    )
    vectors = dict(ready.values_list("object_id", "embedding"))
    with_vectors = [(pk, text) for pk, text in some if pk in vectors]
    return Group(
        audience=audience,
        ids=[pk for pk, _ in with_vectors],
        texts=[text for _, text in with_vectors],
        graph=neighbours(np.array([vectors[pk] for pk, _ in with_vectors], dtype=np.float32)),
    )


def find_topics(account_id: UUID, ids: Sequence[UUID] | None = None) -> dict[UUID, UUID]:
    """Return the current topic of each memory; merged topics resolve to their target."""
    into = dict(_merged(account_id).order_by("-src_id").values_list("dst_id", "src_id"))
    edges = MemoryEdge.objects.of(account_id).filter(type=Type.PART_OF, dst__kind=Kind.TOPIC)
    if ids is not None:
        edges = edges.filter(src__in=ids)
    belong = edges.order_by("-dst_id").values_list("src_id", "dst_id", "dst__status")
    topics: dict[UUID, UUID] = {}
    for memory, topic, status in belong:
        if status in CURRENT_STATUSES:
            topics[memory] = topic
        elif status == Status.SUPERSEDED and memory not in topics:
            topics[memory] = _last(into, topic)
    living = MemoryEntry.objects.of(account_id).filter(
        pk__in=set(topics.values()), status__in=CURRENT_STATUSES
    )
    member_topics = set(living.values_list("pk", flat=True))
    return {memory: topic for memory, topic in topics.items() if topic in member_topics}


def _last(into: Mapping[UUID, UUID], topic: UUID) -> UUID:
    """Where it ended up after all merges."""
    passed = set()
    while topic in into and topic not in passed:
        passed.add(topic)
        topic = into[topic]
    return topic


def lock_topics(account_id: UUID) -> None:
    """One run at a time: two would found the same topics."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_advisory_xact_lock(hashtextextended('topics:' || %s, 0))", [str(account_id)]
        )
