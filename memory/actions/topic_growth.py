"""Growth of topics from similar memories, in one commit for each group that changes.

A topic is a memory of kind topic: a draft that agents cannot see until it has enough members.
Membership is derived and stored as edges. All members of a topic have the same audience.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.accounts.models import AccountQuerySet
from kmapp.database.advisory_locks import lock_until_commit
from kmapp.ledger.actions import Recording, recording
from kmapp.ledger.read_verification import withhold_mismatches
from memory.actions.clustering_input import (
    CURRENT_STATUSES,
    AudienceGroup,
    find_audiences,
    find_topics,
    merge_edges,
    read_groups,
)
from memory.actions.derived_edges import build_derived_edge
from memory.actions.entry_locks import lock_against_erasure, lock_entries, lock_entry
from memory.actions.record_versions import update_entry
from memory.actions.topic_labels import Labeller
from memory.actions.write_entries import write_within_commit
from memory.models import ErasedEntry, MemoryEdge, MemoryEntry, MemoryVersion, TopicSuggestion
from memory.models.entry_input import Batch, NewEntry, derive_entry_id
from memory.retrieval.shared_audience import Audience
from memory.topics.clustering import NO_TOPIC, assign_topics
from memory.topics.merge_split_suggestions import list_suggestions

MIN_MEMBERS_PER_TOPIC = 5
REASON = "Memories that belong together."
WEIGHT = 0.5
RUN_SECONDS = 120.0  # a run begins no group after this: jobs are ended after 200 s
# Step in the list of audiences between the starts of two runs. It is a prime, so that runs start
# with every audience in turn.
AUDIENCE_STEP = 7_919
Kind, Status, Type = MemoryEntry.Kind, MemoryEntry.Status, MemoryEdge.Type


@dataclass(slots=True)
class GrowthResult:
    """Numbers of one run, the topics that it examined, and the suggestions about them."""

    created: int = 0
    joined: int = 0  # memories that became members of a topic
    unassigned: int = 0  # memories without a topic
    is_complete: bool = True  # all memories were examined
    examined: set[UUID] = field(default_factory=set)  # topics of the audiences that it completed
    suggestions: list[TopicSuggestion] = field(default_factory=list)  # not saved


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicChange:
    """Memories that join an existing topic, or a new one with this name."""

    audience: Audience
    ids: Sequence[UUID]
    topic: UUID | None = None
    name: str = ""


def grow_topics(account_id: UUID, actor: Actor, *, turn: int = 0) -> GrowthResult:
    """Assign topics to memories that have none. Opens `acting` itself, outside of computations.

    A run ends before the time limit of jobs. The number `turn` of a run selects the audience and
    the memories that it begins with, so that all have their turn.
    """
    run, labeller, began = GrowthResult(), Labeller(), monotonic()
    with acting(account_id):
        audiences, topics = deque(find_audiences(account_id)), find_topics(account_id)
    audiences.rotate(-turn * AUDIENCE_STEP)
    for audience in audiences:
        audience_topics: set[UUID] = set()
        for group in read_groups(account_id, audience, topics, turn=turn):
            if monotonic() - began > RUN_SECONDS:
                run.is_complete = False
                return run
            changes = _plan_changes(group, topics, labeller, run)
            if changes:
                _apply_changes(account_id, actor, changes, run)
                with acting(account_id):
                    topics.update(find_topics(account_id, group.ids))
            run.suggestions += suggest_changes(account_id, group, topics)
            audience_topics.update(group.number_topics(topics)[0])
        run.examined |= audience_topics
    return run


def _plan_changes(
    group: AudienceGroup, topics: Mapping[UUID, UUID], labeller: Labeller, run: GrowthResult
) -> list[TopicChange]:
    """Return the changes. New topics are named by what sets them apart in the group."""
    topic_ids, before = group.number_topics(topics)
    members: dict[int, list[int]] = defaultdict(list)
    for place, topic in enumerate(assign_topics(group.graph, before)):
        if topic != before[place]:
            members[topic].append(place)
    changes = []
    for topic, places in sorted(members.items()):
        ids = [group.ids[place] for place in places]
        if topic < len(topic_ids):
            changes.append(TopicChange(audience=group.audience, ids=ids, topic=topic_ids[topic]))
        elif name := labeller.label(group.background, [group.texts[place] for place in places]):
            changes.append(TopicChange(audience=group.audience, ids=ids, name=name))
    run.unassigned += len(group.ids) - sum(pk in topics for pk in group.ids)
    run.unassigned -= sum(len(change.ids) for change in changes)
    return changes


def _apply_changes(
    account_id: UUID, actor: Actor, changes: Sequence[TopicChange], run: GrowthResult
) -> None:
    with acting(account_id):
        lock_topics(account_id)
        # Another run may have assigned topics to them since these changes were planned.
        assigned = find_topics(account_id, [pk for each in changes for pk in each.ids]).keys()
        changes = [
            _join_founded_topic(account_id, each)
            for each in changes
            if assigned.isdisjoint(each.ids)
        ]
        # Lock all rows before the first change, in the order of their ids, as an erasure does.
        # Topics come first, because an erasure may wait for a member while it has locked a topic.
        existing = lock_entries(account_id, [each.topic for each in changes if each.topic])
        existing |= lock_against_erasure(account_id, {pk for each in changes for pk in each.ids})
        with recording(account_id, actor, reason=REASON) as commit:
            for change in changes:
                # The name of a new topic may quote a memory that was erased since.
                if existing.issuperset([change.topic] if change.topic else change.ids):
                    _apply_change(commit, change, run)


def _join_founded_topic(account_id: UUID, change: TopicChange) -> TopicChange:
    """Let memories join the topic that the first of them founded, if it is current and empty.

    Imported topics are empty, because a file contains no derived edges.
    """
    founded = MemoryEntry.objects.of(account_id).filter(
        kind=Kind.TOPIC,
        status__in=CURRENT_STATUSES,
        client_id=_client_id(change),
        **change.audience.fields,
    )
    topic = None if change.topic else founded.first()
    if topic is None or member_edges(account_id, topic.pk).exists():
        return change
    return replace(change, topic=topic.pk)


def _client_id(change: TopicChange) -> str:
    """Return the client id of the topic that these memories found."""
    return f"topic:{min(change.ids)}"


def _apply_change(commit: Recording, change: TopicChange, run: GrowthResult) -> None:
    """Apply a change, unless its topic is withheld, or its new topic has existed before."""
    account_id, ids, scope = commit.account_id, change.ids, change.audience.scope
    if change.topic:
        topic = lock_entry(account_id, change.topic)
        if topic.status not in CURRENT_STATUSES:
            return  # forgotten or merged meanwhile: after another change, that cannot be undone
        if not withhold_mismatches(account_id, [topic]):
            return  # nobody can change a row that differs from its seal
        create_member_edges(account_id, change.topic, ids)
        update_member_count(commit, change.topic)
    else:
        client_id = _client_id(change)
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
    is_ready = before == Status.DRAFT and members >= MIN_MEMBERS_PER_TOPIC
    return Status.ACTIVE if is_ready else before


def create_member_edges(account_id: UUID, topic: UUID, ids: Sequence[UUID]) -> None:
    members = lock_against_erasure(account_id, ids)
    keys = [(pk, topic, Type.PART_OF) for pk in sorted(members)]
    keys += [(topic, pk, Type.DERIVED_FROM) for pk in sorted(members)]
    edges = [build_derived_edge(account_id, *key, weight=WEIGHT) for key in keys]
    MemoryEdge.objects.bulk_create(edges, ignore_conflicts=True, batch_size=500)


def member_edges(account_id: UUID, topic: UUID) -> AccountQuerySet[MemoryEdge]:
    """Return the edges from members of the topic and of topics that were merged into it."""
    topics, added = {topic}, {topic}
    while added:
        added = set(merge_edges(account_id).filter(src__in=added).values_list("dst_id", flat=True))
        added -= topics
        topics |= added
    return MemoryEdge.objects.of(account_id).filter(dst__in=topics, type=Type.PART_OF)


def update_member_count(commit: Recording, pk: UUID) -> None:
    """Store the number of members; a draft with enough members becomes active."""
    topic = lock_entry(commit.account_id, pk)
    number = member_edges(commit.account_id, pk).count()
    slots = {**topic.slots, "member_count": number}
    values = {"slots": slots, "status": _status(topic.status, number)}
    update_entry(topic, MemoryVersion.Event.UPDATE, values, commit, reason=REASON)


def suggest_changes(
    account_id: UUID, group: AudienceGroup, topics: Mapping[UUID, UUID]
) -> Iterator[TopicSuggestion]:
    """Yield suggested merges and, of a group with all members, splits."""
    topic_ids, numbers = group.number_topics(topics)
    if not topic_ids:
        return
    sizes = Counter(numbers)
    for each in list_suggestions(group.graph, numbers, with_splits=group.is_whole):
        row = TopicSuggestion(account_id=account_id, score=each.score)
        if each.other != NO_TOPIC:
            row.kind = TopicSuggestion.Kind.MERGE
            smaller, larger = sorted((each.topic, each.other), key=lambda n: (sizes[n], -n))
            row.topic_id, row.other_id = topic_ids[smaller], topic_ids[larger]
        else:
            row.kind, row.topic_id = TopicSuggestion.Kind.SPLIT, topic_ids[each.topic]
            row.members = [str(group.ids[place]) for place in each.leaving]
        yield row


def lock_topics(account_id: UUID) -> None:
    """Allow one run at a time: two runs would create the same topics."""
    lock_until_commit(f"topics:{account_id}")
