"""What people do with topics. Each deed is one commit, and can be taken back.

Merging moves no memory: the other topic is superseded, and whoever asks for members follows that.
So taking it back is putting the status back.
"""

from collections.abc import Collection
from uuid import UUID

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.accounts.actors import Actor
from kmapp.accounts.models import AccountQuerySet
from kmapp.database.ids import uuid7
from kmapp.errors import Conflict, Invalid, NotFound
from kmapp.ledger.actions import Recording, recording
from memory.actions import review
from memory.actions.review import Decision
from memory.actions.topic_growth import (
    CURRENT_STATUSES,
    create_topic,
    lock_topics,
    member_edges,
    update_member_count,
)
from memory.actions.versions import lock_entry, update_entry
from memory.models import EntryQuerySet, MemoryEdge, MemoryEntry, MemoryVersion, TopicSuggestion
from memory.retrieval.visibility import Audience
from memory.topics.clustering import SMALLEST
from memory.topics.labels import Background

Kind, Status, Type = MemoryEntry.Kind, MemoryEntry.Status, MemoryEdge.Type
Event = MemoryVersion.Event
State = TopicSuggestion.State


def current_topics(account_id: UUID) -> EntryQuerySet:
    """Topics that count or may come to: drafts and active ones."""
    return MemoryEntry.objects.of(account_id).filter(kind=Kind.TOPIC, status__in=CURRENT_STATUSES)


def open_suggestions(account_id: UUID) -> AccountQuerySet[TopicSuggestion]:
    """Return undecided suggestions, the clearest first, without those that are outdated."""
    rows = TopicSuggestion.objects.of(account_id).filter(
        Q(other=None) | Q(other__status__in=CURRENT_STATUSES),
        state=State.OPEN,
        topic__status__in=CURRENT_STATUSES,
    )
    return rows.select_related("topic", "other").order_by("-score", "pk")


def rename_topic(decision: Decision, name: str) -> MemoryEntry:
    """Give a topic another name, which growth leaves as it is."""
    topic = _living(decision.account_id, decision.entry_id, decision.version)
    if not name:
        raise Invalid(_("Give the topic a name."))
    cleaned = review.redact_editable_values(decision.account_id, {"title": name, "content": name})
    return _change(decision, topic, Event.UPDATE, cleaned)


def promote_draft(decision: Decision) -> MemoryEntry:
    """Let agents be told of a draft, however few belong to it."""
    topic = _living(decision.account_id, decision.entry_id, decision.version)
    if topic.status != Status.DRAFT:
        raise Conflict(_("This topic is no draft; somebody may have promoted it first."))
    return _change(decision, topic, Event.APPROVE, {"status": Status.ACTIVE})


def merge_topics(decision: Decision, into: UUID) -> MemoryEntry:
    """Let another topic go on for this one, with the memories of both. Returns this one."""
    account_id = decision.account_id
    lock_topics(account_id)
    topic = _living(account_id, decision.entry_id, decision.version)
    other = _living(account_id, into)
    if topic.pk == other.pk:
        raise Invalid(_("Choose another topic to merge this one into."))
    if Audience.of_entry(topic) != Audience.of_entry(other):
        raise Conflict(_("These topics are told to different people, and cannot be one."))
    with recording(account_id, decision.actor, reason=decision.redacted_reason) as commit:
        _supersede(account_id, other.pk, topic.pk)
        _change(decision, topic, Event.MERGE, {"status": Status.SUPERSEDED}, commit)
        update_member_count(commit, other.pk)
        _follow(decision, {topic.pk, other.pk}, TopicSuggestion.Kind.MERGE)
    return topic


def split_topic(decision: Decision, leaving: Collection[UUID]) -> MemoryEntry:
    """Found a topic of some members of this one. Merging it back takes it back. Returns it."""
    account_id = decision.account_id
    lock_topics(account_id)
    topic = _living(account_id, decision.entry_id, decision.version)
    edges = member_edges(account_id, topic.pk)
    there = list(edges.filter(src__in=leaving).order_by("src_id").values_list("src_id", flat=True))
    if not SMALLEST <= len(there) <= edges.count() - SMALLEST:
        raise Conflict(_("The members of this topic are others now. Look at it again."))
    texts = dict(
        MemoryEntry.objects.of(account_id)
        .filter(pk__in=edges.values("src_id"))
        .values_list("pk", "content")
    )
    name = Background(list(texts.values())).name([texts[pk] for pk in there])
    with recording(account_id, decision.actor, reason=decision.redacted_reason) as commit:
        edges.filter(src__in=there).delete()
        MemoryEdge.objects.of(account_id).filter(
            src=topic, dst__in=there, type=Type.DERIVED_FROM
        ).delete()
        audience, client_id = Audience.of_entry(topic), f"topic:{uuid7()}"
        new = create_topic(commit, audience, there, name, client_id, topic.status)
        update_member_count(commit, topic.pk)
        _follow(decision, {topic.pk}, TopicSuggestion.Kind.SPLIT)
    return new


def unmerge_topic(decision: Decision) -> MemoryEntry:
    """Take back that this topic was merged, also long after."""
    account_id = decision.account_id
    lock_topics(account_id)
    topic = lock_entry(account_id, decision.entry_id, decision.version)
    rows = MemoryEdge.objects.of(account_id).filter(dst=topic, type=Type.SUPERSEDES)
    into = rows.filter(src__kind=Kind.TOPIC).first()
    if topic.kind != Kind.TOPIC or topic.status != Status.SUPERSEDED or into is None:
        raise Conflict(_("This topic is not merged into another one."))
    versions = MemoryVersion.objects.of(account_id).filter(entry=topic)
    before = versions.exclude(state__status=Status.SUPERSEDED).latest("version")
    with recording(account_id, decision.actor, reason=decision.redacted_reason) as commit:
        held = {"member_count": member_edges(account_id, topic.pk).count()}
        values = {"status": before.state["status"], "slots": {**topic.slots, **held}}
        _change(decision, topic, Event.UNDO, values, commit)
        if into.src.status in CURRENT_STATUSES:
            update_member_count(commit, into.src_id)
    return topic


def accept_suggestion(
    account_id: UUID, suggestion: UUID, actor: Actor
) -> tuple[TopicSuggestion, MemoryEntry]:
    """Do what a worker suggests. With it, the topic that was merged or founded."""
    lock_topics(account_id)  # before the row, as whoever merges by hand does
    suggestion_row = _open(account_id, suggestion)
    decision = Decision(account_id=account_id, entry_id=suggestion_row.topic_id, actor=actor)
    if suggestion_row.other_id is None:
        return suggestion_row, split_topic(
            decision, [UUID(each) for each in suggestion_row.members]
        )
    return suggestion_row, merge_topics(decision, suggestion_row.other_id)


def decline_suggestion(account_id: UUID, suggestion: UUID, actor: Actor) -> None:
    """Not this; it is not suggested again."""
    _decide(_open(account_id, suggestion), State.DECLINED, actor)


def list_merged_topics(account_id: UUID, topic: UUID) -> list[MemoryEntry]:
    """Return the topics that were merged into this topic and can be separated again."""
    edges = MemoryEdge.objects.of(account_id).filter(
        src=topic, type=Type.SUPERSEDES, dst__kind=Kind.TOPIC, dst__status=Status.SUPERSEDED
    )
    return [edge.dst for edge in edges.select_related("dst").order_by("dst_id")]


def _living(account_id: UUID, pk: UUID, version: int | None = None) -> MemoryEntry:
    topic = lock_entry(account_id, pk, version)
    if topic.kind != Kind.TOPIC:
        raise NotFound(_("There is no such topic."))
    if topic.status not in CURRENT_STATUSES:
        raise Conflict(_("This topic was merged or forgotten meanwhile. Look at it again."))
    return topic


def _change(
    decision: Decision,
    topic: MemoryEntry,
    event: str,
    values: dict[str, object],
    commit: Recording | None = None,
) -> MemoryEntry:
    update_entry(
        topic,
        actor=decision.actor,
        event=event,
        reason=decision.redacted_reason,
        values=values,
        commit=commit,
    )
    return topic


def _supersede(account_id: UUID, by: UUID, topic: UUID) -> None:
    """Only the last merge holds: an earlier one may have been into another."""
    edges = MemoryEdge.objects.of(account_id)
    edges.filter(dst=topic, type=Type.SUPERSEDES, src__kind=Kind.TOPIC).delete()
    edges.filter(src=topic, dst=by, type=Type.SUPERSEDES).delete()  # it was the other way round
    MemoryEdge.objects.create(
        account_id=account_id,
        src_id=by,
        dst_id=topic,
        type=Type.SUPERSEDES,
        origin=MemoryEdge.Origin.DERIVED,
        created_at=timezone.now(),
    )


def _open(account_id: UUID, suggestion: UUID) -> TopicSuggestion:
    rows = TopicSuggestion.objects.of(account_id).select_for_update()
    suggestion_row = rows.filter(pk=suggestion, state=State.OPEN).first()
    if suggestion_row is None:
        raise NotFound(_("There is no such suggestion any more."))
    return suggestion_row


def _follow(decision: Decision, topics: set[UUID], kind: str) -> None:
    """Close the suggestions about these topics, whoever acted."""
    rows = TopicSuggestion.objects.of(decision.account_id).filter(
        kind=kind, topic__in=topics, state=State.OPEN
    )
    for row in rows.select_for_update():
        if row.other_id is None or row.other_id in topics:
            _decide(row, State.FOLLOWED, decision.actor)


def _decide(row: TopicSuggestion, state: str, actor: Actor) -> None:
    row.state, row.decided_by, row.decided_at = state, str(actor), timezone.now()
    row.save(update_fields=["state", "decided_by", "decided_at"])
