"""Topics that people edit, and suggestions of workers to merge or split them.

Merging moves no memory: the merged topic becomes superseded, and queries for members follow its
edge, so that undoing a merge only restores the status. Undoing a split merges the new topic back.
Only people merge and split topics.
"""

from collections.abc import Collection, Sequence
from dataclasses import replace
from uuid import UUID

from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.accounts.models import AccountQuerySet
from kmapp.database.ids import uuid7
from kmapp.errors import Conflict, Invalid, NotFound
from memory.actions import review
from memory.actions.clustering_input import CURRENT_STATUSES, merge_edges
from memory.actions.derived_edges import build_derived_edge
from memory.actions.edges import delete_edges
from memory.actions.entry_locks import lock_against_erasure, lock_entries, lock_entry
from memory.actions.record_versions import update_entry
from memory.actions.review import Decision
from memory.actions.topic_growth import (
    WEIGHT,
    TopicChange,
    create_topic,
    lock_topics,
    member_edges,
    update_member_count,
)
from memory.models import EntryQuerySet, MemoryEdge, MemoryEntry, MemoryVersion, TopicSuggestion
from memory.retrieval.shared_audience import Audience
from memory.topics.clustering import MIN_TOPIC_SIZE
from memory.topics.labels import Background

Kind, Status, Type = MemoryEntry.Kind, MemoryEntry.Status, MemoryEdge.Type
Event = MemoryVersion.Event
State = TopicSuggestion.State


def current_topics(account_id: UUID) -> EntryQuerySet:
    return MemoryEntry.objects.of(account_id).filter(kind=Kind.TOPIC, status__in=CURRENT_STATUSES)


def rename_topic(decision: Decision, name: str) -> MemoryEntry:
    """Rename a topic. Growth does not change the name."""
    topic = _lock_topic(decision)
    if not name:
        raise Invalid(_("Enter a name for the topic."))
    values = review.redact_editable_values(decision.account_id, {"title": name, "content": name})
    with decision.in_commit() as commit:
        update_entry(topic, Event.UPDATE, values, commit)
    return topic


def promote_draft(decision: Decision) -> MemoryEntry:
    """Make a draft visible to agents, however few members it has."""
    topic = _lock_topic(decision)
    if topic.status != Status.DRAFT:
        raise Conflict(_("This topic is not a draft. Someone may have promoted it already."))
    with decision.in_commit() as commit:
        update_entry(topic, Event.APPROVE, {"status": Status.ACTIVE}, commit)
    return topic


def merge_topics(decision: Decision, into: UUID) -> MemoryEntry:
    """Merge this topic into another one, and return this one."""
    account_id = decision.account_id
    lock_topics(account_id)
    lock_entries(account_id, [decision.entry_id, into])
    topic = _lock_topic(decision)
    other = _lock_topic(replace(decision, entry_id=into, version=None))
    if topic.pk == other.pk:
        raise Invalid(_("Choose another topic to merge this one into."))
    if Audience.of_entry(topic) != Audience.of_entry(other):
        raise Conflict(_("These topics have different visibility, so they cannot be merged."))
    with decision.in_commit() as commit:
        edges = MemoryEdge.objects.of(account_id).filter(type=Type.SUPERSEDES)
        delete_edges(edges.filter(dst=topic, src__kind=Kind.TOPIC), commit)  # of earlier merges
        delete_edges(edges.filter(src=topic, dst=other), commit)  # of the opposite merge
        build_derived_edge(account_id, other.pk, topic.pk, Type.SUPERSEDES, weight=WEIGHT).save()
        update_entry(topic, Event.MERGE, {"status": Status.SUPERSEDED}, commit)
        update_member_count(commit, other.pk)
        _close_suggestions(decision, {topic.pk, other.pk}, TopicSuggestion.Kind.MERGE)
    return topic


def split_topic(decision: Decision, leaving: Collection[UUID]) -> MemoryEntry:
    """Create a topic from some members of this one, and return it. A merge undoes that.

    The commit creates the new topic and changes this one, by which `undo_decision` recognizes it.
    """
    account_id = decision.account_id
    lock_topics(account_id)
    topic = _lock_topic(decision)
    edges = member_edges(account_id, topic.pk)
    chosen = edges.filter(src__in=leaving).values_list("src_id", flat=True)
    members = sorted(lock_against_erasure(account_id, list(chosen)))
    if not MIN_TOPIC_SIZE <= len(members) <= edges.count() - MIN_TOPIC_SIZE:
        raise Conflict(_("The members of this topic have changed. Review it again."))
    audience = Audience.of_entry(topic)
    rows = MemoryEntry.objects.of(account_id).filter(pk__in=edges.values("src_id"))
    # Agents may have added memories that not all viewers of the topic can see.
    texts = dict(rows.filter(**audience.fields).values_list("pk", "content"))
    own_texts = [texts[pk] for pk in members if pk in texts]
    name = Background(list(texts.values())).name(own_texts) or topic.title
    # This topic, and those merged into it.
    sources = set(edges.filter(src__in=members).values_list("dst_id", flat=True))
    with decision.in_commit() as commit:
        delete_edges(edges.filter(src__in=members), commit)
        derived = MemoryEdge.objects.of(account_id).filter(src__in=sources, type=Type.DERIVED_FROM)
        delete_edges(derived.filter(dst__in=members), commit)
        change = TopicChange(audience=audience, ids=members, name=name)
        new = create_topic(commit, change, f"topic:{uuid7()}", topic.status)
        update_member_count(commit, topic.pk)
        _close_suggestions(decision, {topic.pk}, TopicSuggestion.Kind.SPLIT)
    return new


def unmerge_topic(decision: Decision) -> MemoryEntry:
    """Undo the merge of this topic, however long ago it was."""
    account_id = decision.account_id
    lock_topics(account_id)
    topic = lock_entry(account_id, decision.entry_id, decision.version)
    rows = MemoryEdge.objects.of(account_id).filter(dst=topic, type=Type.SUPERSEDES)
    into = rows.filter(src__kind=Kind.TOPIC).first()
    if topic.kind != Kind.TOPIC or topic.status != Status.SUPERSEDED or into is None:
        raise Conflict(_("This topic is not merged into another topic."))
    versions = MemoryVersion.objects.of(account_id).filter(entry=topic)
    before = versions.exclude(state__status=Status.SUPERSEDED).latest("version")
    with decision.in_commit() as commit:
        count = {"member_count": member_edges(account_id, topic.pk).count()}
        values = {"status": before.state["status"], "slots": {**topic.slots, **count}}
        update_entry(topic, Event.UNDO, values, commit)
        if into.src.status in CURRENT_STATUSES:
            update_member_count(commit, into.src_id)
    return topic


def undo_decision(decision: Decision) -> list[MemoryEntry]:
    """Undo the latest decision about a topic. A split is undone by merging the new topic back."""
    account_id = decision.account_id
    lock_topics(account_id)
    new = _find_split_off(account_id, decision.entry_id)
    if new is None:
        return review.undo(decision)
    lock_entries(account_id, [decision.entry_id, new])
    lock_entry(account_id, decision.entry_id, decision.version)  # raises if it changed meanwhile
    return [merge_topics(replace(decision, entry_id=new, version=None), decision.entry_id)]


def _find_split_off(account_id: UUID, topic: UUID) -> UUID | None:
    """Return the topic that the latest change of this one created, if that was a split."""
    latest = MemoryVersion.objects.of(account_id).filter(entry_id=topic).order_by("-version")
    changed = latest.first()
    if changed is None or changed.event != Event.UPDATE or not changed.actor.startswith("user:"):
        return None  # workers create and change several topics in one commit
    created = MemoryVersion.objects.of(account_id).filter(
        commit_id=changed.commit_id, version=1, state__kind=Kind.TOPIC
    )
    return created.exclude(entry_id=topic).values_list("entry_id", flat=True).first()


def list_merged_topics(account_id: UUID, topic: UUID) -> list[MemoryEntry]:
    """Return the topics that were merged into this one directly."""
    edges = merge_edges(account_id).filter(src=topic)
    return [edge.dst for edge in edges.select_related("dst").order_by("dst_id")]


def _lock_topic(decision: Decision) -> MemoryEntry:
    topic = lock_entry(decision.account_id, decision.entry_id, decision.version)
    if topic.kind != Kind.TOPIC:
        raise NotFound(_("Topic not found."))
    if topic.status not in CURRENT_STATUSES:
        raise Conflict(_("This topic was merged or forgotten in the meantime. Review it again."))
    return topic


def refresh_suggestions(
    account_id: UUID,
    candidates: Sequence[TopicSuggestion],
    *,
    examined: Collection[UUID] | None = None,
) -> int:
    """Replace the open suggestions by these, and return their number.

    With `examined`, those about topics that are neither in it nor in `candidates` stay.

    What a person declined is not suggested again. Pages of an audience may suggest the same merge.
    """
    with acting(account_id):
        lock_topics(account_id)
        unique = {_suggestion_key(row): row for row in candidates}
        topics = {pk for _kind, pair in unique for pk in pair if pk}
        # Before suggestions are deleted: an erasure locks topics before it deletes suggestions.
        possible = lock_against_erasure(account_id, topics) | {None}
        rows = TopicSuggestion.objects.of(account_id)
        declined = {_suggestion_key(row) for row in rows.filter(state=State.DECLINED)}
        replaced = rows.exclude(state=State.DECLINED)
        if examined is not None:
            replaced = replaced.filter(topic__in={*examined, *(row.topic_id for row in candidates)})
        replaced.delete()
        new = [row for key, row in unique.items() if key not in declined and key[1] <= possible]
        TopicSuggestion.objects.bulk_create(new)
    return len(new)


def _suggestion_key(row: TopicSuggestion) -> tuple[str, frozenset[UUID | None]]:
    """Return the kind and topics without their order, since either topic may become larger."""
    return row.kind, frozenset({row.topic_id, row.other_id})


def open_suggestions(account_id: UUID) -> AccountQuerySet[TopicSuggestion]:
    """Return the suggestions that can still be accepted, highest score first."""
    rows = TopicSuggestion.objects.of(account_id).filter(
        Q(other=None) | Q(other__status__in=CURRENT_STATUSES),
        state=State.OPEN,
        topic__status__in=CURRENT_STATUSES,
    )
    return rows.select_related("topic", "other").order_by("-score", "pk")


def accept_suggestion(
    account_id: UUID, pk: UUID, actor: Actor
) -> tuple[TopicSuggestion, MemoryEntry]:
    """Accept a suggestion. Return it with the topic that was merged or created."""
    lock_topics(account_id)  # before the suggestion: the order in which `merge_topics` locks
    suggestion = _lock_open_suggestion(account_id, pk)
    decision = Decision(account_id=account_id, entry_id=suggestion.topic_id, actor=actor)
    if suggestion.other_id is None:
        return suggestion, split_topic(decision, [UUID(member) for member in suggestion.members])
    return suggestion, merge_topics(decision, suggestion.other_id)


def decline_suggestion(account_id: UUID, pk: UUID, actor: Actor) -> None:
    lock_topics(account_id)  # or a refresh that runs meanwhile would suggest it again
    _decide(_lock_open_suggestion(account_id, pk), State.DECLINED, actor)


def _lock_open_suggestion(account_id: UUID, pk: UUID) -> TopicSuggestion:
    rows = TopicSuggestion.objects.of(account_id).select_for_update()
    suggestion = rows.filter(pk=pk, state=State.OPEN).first()
    if suggestion is None:
        raise NotFound(_("This suggestion no longer exists."))
    return suggestion


def _close_suggestions(decision: Decision, topics: set[UUID], kind: str) -> None:
    """Mark the suggestions as accepted that this merge or split has carried out."""
    rows = TopicSuggestion.objects.of(decision.account_id).filter(
        kind=kind, topic__in=topics, state=State.OPEN
    )
    for row in rows.select_for_update():
        if row.other_id is None or row.other_id in topics:
            _decide(row, State.FOLLOWED, decision.actor)


def _decide(row: TopicSuggestion, state: str, actor: Actor) -> None:
    row.state, row.decided_by, row.decided_at = state, str(actor), timezone.now()
    row.save(update_fields=["state", "decided_by", "decided_at"])
