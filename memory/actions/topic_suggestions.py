"""Suggesting what to do with topics. Nothing is merged or split unless a person decides so."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

from kmapp.accounts.acting import acting
from memory.actions.topic_growth import Group, find_topics, lock_topics
from memory.models import TopicSuggestion
from memory.topics.clustering import NONE
from memory.topics.merge_split import Suggestion, suggestions

Kind, State = TopicSuggestion.Kind, TopicSuggestion.State


def refresh_suggestions(account_id: UUID, groups: Sequence[Group]) -> int:
    """Renew the open suggestions, by groups that were grown. What a person declined stays so.

    Returns how many are open.
    """
    with acting(account_id):
        topics = find_topics(account_id)
    suggestion_rows = [row for group in groups for row in _rows(account_id, group, topics)]
    with acting(account_id):
        lock_topics(account_id)
        rows = TopicSuggestion.objects.of(account_id)
        declined = rows.filter(state=State.DECLINED)
        decided = {_about(row) for row in declined}
        rows.exclude(state=State.DECLINED).delete()
        fresh = [row for row in suggestion_rows if _about(row) not in decided]
        TopicSuggestion.objects.bulk_create(fresh)
    return len(fresh)


def _about(row: TopicSuggestion) -> tuple[str, frozenset[UUID | None]]:
    """Return what the suggestion is about. Which topic is larger may change."""
    return row.kind, frozenset({row.topic_id, row.other_id})


def _rows(account_id: UUID, group: Group, topics: Mapping[UUID, UUID]) -> Iterator[TopicSuggestion]:
    topic_ids, numbered = group.numbered(topics)
    sizes = Counter(numbered)
    for each in suggestions(group.graph, numbered) if topic_ids else ():
        yield _row(account_id, group, topic_ids, each, sizes)


def _row(
    account_id: UUID,
    group: Group,
    topic_ids: Sequence[UUID],
    suggestion_rows: Suggestion,
    sizes: Mapping[int, int],
) -> TopicSuggestion:
    """Of two topics the smaller one would be merged into the larger."""
    if suggestion_rows.other == NONE:
        return TopicSuggestion(
            account_id=account_id,
            kind=Kind.SPLIT,
            topic_id=topic_ids[suggestion_rows.topic],
            members=[str(group.ids[place]) for place in suggestion_rows.leaving],
            score=suggestion_rows.score,
        )
    smaller, larger = sorted(
        (suggestion_rows.topic, suggestion_rows.other), key=lambda each: (sizes[each], -each)
    )
    return TopicSuggestion(
        account_id=account_id,
        kind=Kind.MERGE,
        topic_id=topic_ids[smaller],
        other_id=topic_ids[larger],
        score=suggestion_rows.score,
    )
