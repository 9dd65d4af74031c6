"""Suggestions about topics after a run that did not reach all memories."""

import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from memory.actions import topic_growth
from memory.actions.topic_growth import grow_topics
from memory.actions.topics import refresh_suggestions
from memory.models import MemoryEntry, TopicSuggestion
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
