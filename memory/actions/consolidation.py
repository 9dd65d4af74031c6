"""Suggesting what to do with topics. Nothing is merged or split unless a person decides so."""

from collections.abc import Iterator, Mapping
from uuid import UUID

from django.db import transaction

from kmapp.accounts.acting import acting
from memory.actions.topics import Group, groups_of
from memory.clustering import NONE
from memory.consolidating import Suggestion, suggestions
from memory.models import TopicSuggestion

Kind, State = TopicSuggestion.Kind, TopicSuggestion.State


def suggest(account_id: UUID) -> int:
    """Renew the open suggestions. What a person declined stays declined. How many are open."""
    with acting(account_id):
        groups = groups_of(account_id)
    found = [row for group in groups for row in _rows(account_id, group)]
    with acting(account_id), transaction.atomic():
        rows = TopicSuggestion.objects.of(account_id)
        declined = rows.filter(state=State.DECLINED)
        decided = set(declined.values_list("kind", "topic_id", "other_id"))
        rows.exclude(state=State.DECLINED).delete()
        fresh = [row for row in found if (row.kind, row.topic_id, row.other_id) not in decided]
        TopicSuggestion.objects.bulk_create(fresh)
    return len(fresh)


def _rows(account_id: UUID, group: Group) -> Iterator[TopicSuggestion]:
    known = sorted({topic for topic in group.topics if topic})
    number = {topic: place for place, topic in enumerate(known)}
    topics = [number[topic] if topic else NONE for topic in group.topics]
    sizes = {place: topics.count(place) for place in number.values()}
    for each in suggestions(group.vectors, topics) if known else ():
        yield _row(account_id, group, known, each, sizes)


def _row(
    account_id: UUID,
    group: Group,
    known: list[UUID],
    found: Suggestion,
    sizes: Mapping[int, int],
) -> TopicSuggestion:
    """Of two topics the smaller one would be merged into the larger."""
    if found.other == NONE:
        return TopicSuggestion(
            account_id=account_id,
            kind=Kind.SPLIT,
            topic_id=known[found.topic],
            members=[str(group.ids[place]) for place in found.leaving],
            score=found.score,
        )
    smaller, larger = sorted((found.topic, found.other), key=lambda each: (sizes[each], -each))
    return TopicSuggestion(
        account_id=account_id,
        kind=Kind.MERGE,
        topic_id=known[smaller],
        other_id=known[larger],
        score=found.score,
    )
