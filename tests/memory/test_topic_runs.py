"""Topic runs, also those that end before they have reached all memories."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from pytest_django import Settings

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from memory.actions import review, topic_growth
from memory.actions.topic_editing import refresh_suggestions
from memory.actions.topic_growth import (
    GrowthResult,
    TopicChange,
    create_member_edges,
    grow_topics,
    member_edges,
)
from memory.actions.topic_labels import MODEL_SECONDS, Labeller
from memory.models import MemoryEdge, MemoryEntry, TopicSuggestion
from memory.retrieval.shared_audience import Audience
from memory.topics.labels import Background
from tests import makers
from tests.agent import Agent
from tests.fake_provider import FakeProvider
from tests.memory.test_topics import BIKE, TEA, write


def test_incomplete_run_replaces_suggestions_about_topics_that_it_examined(
    agent: Agent, acme: Account, provider: FakeProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    for user in ("mira", "nils"):
        write(agent, [*TEA, *BIKE], user_id=user)
    grow_topics(acme.pk, SYSTEM)
    for user in ("mira", "nils"):
        one, two, *_ = makers.rows(MemoryEntry, acme, kind="topic", user_id=user)
        with acting(acme):
            TopicSuggestion.objects.create(
                account=acme, kind="merge", topic=one, other=two, score=0.5
            )
    times = iter([0.0, 0.0, 2 * topic_growth.RUN_SECONDS])  # it ends after the first user
    monkeypatch.setattr(topic_growth, "monotonic", lambda: next(times))
    run = grow_topics(acme.pk, SYSTEM)
    assert not run.is_complete
    refresh_suggestions(acme.pk, [], examined=run.examined)
    with acting(acme):
        suggestions = TopicSuggestion.objects.of(acme).select_related("topic")
        assert [each.topic.user_id for each in suggestions] == ["nils"]


def test_suggestions_about_topics_that_were_erased_since_are_left_out(acme: Account) -> None:
    one, two = makers.write(acme, "One", "Two", kind="topic")
    suggestions = [
        TopicSuggestion(account=acme, kind="merge", topic_id=uuid4(), other=two, score=0.5),
        TopicSuggestion(account=acme, kind="split", topic=one, score=0.4),
    ]
    assert refresh_suggestions(acme.pk, suggestions) == 1
    assert makers.get(TopicSuggestion, acme).topic_id == one.pk


def test_chat_model_answers_within_the_time_for_labels(
    monkeypatch: pytest.MonkeyPatch, settings: Settings
) -> None:
    settings.CHAT_MODEL, settings.CHAT_DEADLINE = "talker", 90.0
    deadlines: list[float] = []

    def answer(*request: Any) -> Any:
        deadlines.append(request[-1])
        return {"choices": [{"message": {"content": '{"label": "Steeping tea"}'}}]}

    monkeypatch.setattr("kmapp.providers.chat.post_json", answer)
    assert Labeller().label(Background(TEA), TEA) == "Steeping tea"
    assert 0 < deadlines[0] <= MODEL_SECONDS


def test_each_audience_comes_first_in_turn(acme: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run may end before it reaches the last ones."""
    for user in ("mira", "nils", "noor"):
        makers.write(acme, "The kiln.", "The mill.", "The press.", user_id=user)
    order: list[str] = []

    def read(_account_id: UUID, audience: Audience, *_: Any, **__: Any) -> Iterator[Any]:
        order.append(audience.user_id)
        return iter(())

    monkeypatch.setattr(topic_growth, "read_groups", read)
    for turn in range(3):
        grow_topics(acme.pk, SYSTEM, turn=turn)
    assert sorted(order[::3]) == ["mira", "nils", "noor"]
    assert len(order) == 9


def test_memories_do_not_join_the_topic_of_another_audience(
    agent: Agent, acme: Account, provider: FakeProvider
) -> None:
    """They do not join it even if an agent has made similar memories part of it."""
    write(agent, TEA[:4], user_id="mira")
    [other] = makers.write(acme, "Tea", kind="topic", user_id="nils", visibility="user")
    with acting(acme):
        rows = MemoryEntry.objects.of(acme).filter(user_id="mira")
        create_member_edges(acme.pk, other.pk, list(rows.values_list("pk", flat=True)))
    write(agent, TEA[4:], user_id="mira")
    assert grow_topics(acme.pk, SYSTEM).created == 1
    with acting(acme):
        assert member_edges(acme.pk, other.pk).count() == 4
    assert grow_topics(acme.pk, SYSTEM).joined == 0


def test_memories_with_a_topic_of_another_run_join_no_second_one(acme: Account) -> None:
    """Two hosts may plan changes for the same memories at once."""
    one, two = makers.write(acme, "One", "Two", kind="topic")
    [tea] = makers.write(acme, "Tea.")
    audience, run = Audience.of_entry(tea), GrowthResult()
    for target in (one, two):
        change = TopicChange(audience=audience, ids=[tea.pk], topic=target.pk)
        topic_growth._apply_changes(acme.pk, SYSTEM, [change], run)  # noqa: SLF001
    change = TopicChange(audience=audience, ids=[tea.pk], name="Tea")
    topic_growth._apply_changes(acme.pk, SYSTEM, [change], run)  # noqa: SLF001
    assert (run.created, run.joined) == (0, 1)
    assert makers.get(MemoryEdge, acme, type="part_of").dst_id == one.pk


def test_topic_that_was_forgotten_meanwhile_is_not_changed(acme: Account) -> None:
    """Only the latest change can be undone, so another one would prevent its restoration."""
    [topic] = makers.write(acme, "Tea", kind="topic")
    [tea] = makers.write(acme, "Tea leaves.")
    with acting(acme):
        forgotten = review.forget(makers.decision(topic))
    change = TopicChange(audience=Audience.of_entry(tea), ids=[tea.pk], topic=topic.pk)
    topic_growth._apply_changes(acme.pk, SYSTEM, [change], GrowthResult())  # noqa: SLF001
    assert makers.count(MemoryEdge, acme, type="part_of") == 0
    with acting(acme):
        [restored] = review.undo(makers.decision(forgotten, version=forgotten.version))
    assert restored.status == "active"


def test_memories_join_the_imported_topic_that_they_founded(acme: Account) -> None:
    """A file of memories contains their topics, but not who is a member."""
    entries = makers.write(acme, "Green tea.", "Black tea.", "White tea.")
    audience, ids = Audience.of_entry(entries[0]), [entry.pk for entry in entries]
    new_topic = TopicChange(audience=audience, ids=ids, name="Tea")
    topic_growth._apply_changes(acme.pk, SYSTEM, [new_topic], GrowthResult())  # noqa: SLF001
    topic = makers.get(MemoryEntry, acme, kind="topic")
    with acting(acme):
        member_edges(acme.pk, topic.pk).delete()
    run = GrowthResult()
    topic_growth._apply_changes(acme.pk, SYSTEM, [new_topic], run)  # noqa: SLF001
    assert (run.created, run.joined) == (0, 3)
    assert {edge.dst_id for edge in makers.rows(MemoryEdge, acme, type="part_of")} == {topic.pk}
    topic_growth._apply_changes(acme.pk, SYSTEM, [new_topic], run)  # noqa: SLF001
    assert (run.created, run.joined) == (0, 3)
