"""Topic actions, suggestions and their undo."""

from typing import Any
from uuid import UUID

import numpy as np
import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.errors import Conflict, Invalid, NotFound
from kmapp.ledger.models import Commit
from memory.actions import review, topic_editing, topic_growth
from memory.actions.follow_up_jobs import enqueue_topic_growth
from memory.actions.topic_editing import refresh_suggestions
from memory.actions.topic_growth import create_member_edges, grow_topics, member_edges
from memory.actions.write_entries import write_batch
from memory.jobs.tasks import enqueue_topic_growths
from memory.models import MemoryEdge, MemoryEntry, TopicSuggestion
from memory.models.entry_input import Batch, NewEntry
from memory.retrieval.shared_audience import Audience
from memory.topics.clustering import NO_TOPIC, build_neighbour_graph
from memory.topics.merge_split_suggestions import compute_modularity, list_suggestions
from memory.topics.projection import HEIGHT, MARGIN, WIDTH, project
from tests import makers
from tests.agent import Agent
from tests.fake_provider import FakeProvider

pytestmark = pytest.mark.django_db


def clouds(number: int, each: int, *, apart: float = 1.0) -> "np.ndarray":
    rng = np.random.default_rng(7)
    middles = apart * rng.normal(size=(number, 64))
    points = np.repeat(middles, each, axis=0) + 0.35 * rng.normal(size=(number * each, 64)) + 3
    return points.astype(np.float32)


def test_suggests_merging_two_halves_of_a_cluster() -> None:
    points = clouds(4, 20)
    topics = [0] * 10 + [1] * 10 + [2] * 20 + [3] * 20 + [4] * 20
    [result] = list_suggestions(build_neighbour_graph(points), topics)
    assert (result.topic, result.other, result.leaving) == (0, 1, ())
    assert 0.2 <= result.score <= 1


def test_suggests_splitting_two_clusters() -> None:
    points = clouds(4, 20)
    [result] = list_suggestions(build_neighbour_graph(points), [0] * 40 + [1] * 20 + [2] * 20)
    assert (result.topic, result.other) == (0, NO_TOPIC)
    assert set(result.leaving) in ({*range(20)}, {*range(20, 40)})


def test_suggests_nothing_for_good_clusters() -> None:
    topics = [n // 20 for n in range(80)]
    assert list_suggestions(build_neighbour_graph(clouds(4, 20)), topics) == []
    assert list_suggestions(build_neighbour_graph(clouds(4, 20)), [NO_TOPIC] * 80) == []


def test_modularity() -> None:
    pair = [{1: 1.0}, {0: 1.0}, {3: 1.0}, {2: 1.0}]
    assert compute_modularity(pair, [0, 0, 1, 1]) == pytest.approx(0.5)
    assert compute_modularity(pair, [0, 0, 0, 0]) == pytest.approx(0.0)
    assert compute_modularity([{}, {}], [0, 1]) == 0


def test_projection_fills_the_map_and_is_deterministic() -> None:
    points = project(clouds(3, 10))
    assert points == project(clouds(3, 10))
    assert {min(p.x for p in points), min(p.y for p in points)} == {MARGIN}
    assert (max(p.x for p in points), max(p.y for p in points)) == (WIDTH - MARGIN, HEIGHT - MARGIN)
    assert project(np.zeros((0, 4), dtype=np.float32)) == []
    assert project(np.ones((2, 4), dtype=np.float32)) == [(WIDTH // 2, HEIGHT // 2)] * 2
    assert len(project(np.ones((1, 1), dtype=np.float32))) == 1


def written(account: Account, texts: list[str], **more: Any) -> list[MemoryEntry]:
    entries = [NewEntry(text=text, title=text, **more) for text in texts]
    batch = Batch(entries=entries, status="active")
    return list(write_batch(account_id=account.pk, actor=SYSTEM, batch=batch).entries)


def topic(account: Account, name: str, members: int, **ids: str) -> MemoryEntry:
    """Create a topic with this many memories."""
    with acting(account):
        entries = written(account, [f"{name} memory {n}" for n in range(members)], **ids)
        slots = {"member_count": members}
        [created] = written(account, [name], kind="topic", metadata=slots, **ids)
        create_member_edges(account.pk, created.pk, [entry.pk for entry in entries])
    return created


def state(account: Account) -> list[tuple[object, ...]]:
    rows = MemoryEntry.objects.of(account).filter(kind="topic")
    return sorted(rows.values_list("pk", "title", "content", "status", "slots__member_count"))


def number(entry: MemoryEntry) -> int:
    return member_edges(entry.account_id, entry.pk).count()


def test_withheld_topic_gets_no_members(acme: Account) -> None:
    tea, [new] = topic(acme, "Tea", 3), makers.write(acme, "Tea memory 4")
    makers.set_policy(acme, {"verify_on_read": True})
    makers.update(MemoryEntry, acme, {"pk": tea.pk}, title="Edited in the database.")
    change = topic_growth.TopicChange(audience=Audience.of_entry(tea), ids=[new.pk], topic=tea.pk)
    topic_growth._apply_changes(acme.pk, SYSTEM, [change], topic_growth.GrowthResult())  # noqa: SLF001
    with acting(acme):
        assert number(tea) == 3


def test_undo_restores_merged_topics(acme: Account) -> None:
    small, large = topic(acme, "Oolong", 3), topic(acme, "Tea", 6)
    with acting(acme):
        before = state(acme)
        commits = Commit.objects.of(acme).count()
        removed = topic_editing.merge_topics(makers.decision(small), large.pk)
        assert (removed.status, number(large)) == ("superseded", 9)
        assert [each.pk for each in topic_editing.list_merged_topics(acme.pk, large.pk)] == [
            small.pk
        ]
        large.refresh_from_db()
        assert large.slots["member_count"] == 9
        review.undo(makers.decision(removed))
        assert [row[:4] for row in state(acme)] == [row[:4] for row in before]
        assert (number(small), number(large)) == (3, 6)
        assert Commit.objects.of(acme).count() == commits + 2


def test_chained_merges_are_undone_from_the_end(acme: Account) -> None:
    one, two, three = topic(acme, "One", 3), topic(acme, "Two", 4), topic(acme, "Three", 5)
    with acting(acme):
        topic_editing.merge_topics(makers.decision(one), two.pk)
        topic_editing.merge_topics(makers.decision(two), three.pk)
        assert number(three) == 12
        review.unpin(makers.decision(two))  # adds a version to the merged topic
        again = topic_editing.unmerge_topic(makers.decision(two))
        assert (again.status, number(two), number(three)) == ("active", 7, 5)
        again.refresh_from_db()
        assert again.slots["member_count"] == 7
        topic_editing.merge_topics(makers.decision(three), two.pk)  # in the other direction
        assert number(two) == 12
        with pytest.raises(Conflict):
            topic_editing.unmerge_topic(makers.decision(two))


def test_split_topic_can_be_merged_back(acme: Account) -> None:
    whole = topic(acme, "Everything", 8)
    with acting(acme):
        ids = sorted(member_edges(acme.pk, whole.pk).values_list("src_id", flat=True))
        new = topic_editing.split_topic(makers.decision(whole), ids[:3])
        assert (number(new), number(whole)) == (3, 5)
        assert new.title != whole.title
        with pytest.raises(Conflict):
            topic_editing.split_topic(makers.decision(whole), ids[:3])  # no longer members
        with pytest.raises(Conflict):
            topic_editing.split_topic(makers.decision(whole), ids[3:])  # no member would remain
        topic_editing.merge_topics(makers.decision(new), whole.pk)
        assert number(whole) == 8


def test_split_removes_both_edges_of_members_of_a_merged_topic(acme: Account) -> None:
    merged, whole = topic(acme, "Oolong", 3), topic(acme, "Tea", 6)
    with acting(acme):
        ids = list(member_edges(acme.pk, merged.pk).values_list("src_id", flat=True))
        topic_editing.merge_topics(makers.decision(merged), whole.pk)
        topic_editing.split_topic(makers.decision(whole), ids)
        assert not MemoryEdge.objects.of(acme).filter(src=merged, dst__in=ids).exists()


def test_split_topic_is_named_by_memories_that_its_viewers_see(acme: Account) -> None:
    whole = topic(acme, "Everything", 3)
    with acting(acme):
        own = written(acme, [f"The violin lesson {n}." for n in range(3)], user_id="mira")
        create_member_edges(acme.pk, whole.pk, [entry.pk for entry in own])
        new = topic_editing.split_topic(makers.decision(whole), [entry.pk for entry in own])
    assert new.title == whole.title


def test_rejects_invalid_topic_changes(acme: Account) -> None:
    shared, own = topic(acme, "Tea", 3), topic(acme, "Tea", 3, user_id="mira", visibility="user")
    with acting(acme):
        fact = MemoryEntry.objects.of(acme).filter(kind="fact")[0]
        with pytest.raises(Conflict):
            topic_editing.merge_topics(makers.decision(shared), own.pk)  # visible to other users
        with pytest.raises(Invalid):
            topic_editing.merge_topics(makers.decision(shared), shared.pk)
        with pytest.raises(NotFound):
            topic_editing.merge_topics(makers.decision(fact), shared.pk)
        with pytest.raises(Invalid):
            topic_editing.rename_topic(makers.decision(shared), "")
        with pytest.raises(Conflict):
            topic_editing.promote_draft(makers.decision(shared))  # no draft
        stale = makers.decision(shared, version=9)
        with pytest.raises(Conflict):
            topic_editing.rename_topic(stale, "Other")


def test_renamed_topic_keeps_its_name(agent: Agent, acme: Account, provider: FakeProvider) -> None:
    texts = [f"{sort} tea steeps" for sort in ("oolong", "green", "white", "black")]
    nodes = [{"text": text, "user_id": "mira"} for text in texts]
    agent.post("memory/write", {"nodes": nodes}, 201)
    makers.settle()
    grow_topics(acme.pk, SYSTEM)
    with acting(acme):
        result = MemoryEntry.objects.of(acme).get(kind="topic")
        assert result.status == "draft"
        topic_editing.rename_topic(makers.decision(result), "Steeping")
        topic_editing.promote_draft(makers.decision(result))
    nodes = [{"text": "red tea steeps", "user_id": "mira"}]
    agent.post("memory/write", {"nodes": nodes}, 201)
    makers.settle()
    grow_topics(acme.pk, SYSTEM)
    with acting(acme):
        result.refresh_from_db()
        assert (result.title, result.content, result.status) == ("Steeping", "Steeping", "active")
    assert agent.get("memory/verify")["ok"]


def test_topics_grow_after_embedding(agent: Agent, acme: Account, provider: FakeProvider) -> None:
    enqueue_topic_growths()
    makers.settle()
    assert not makers.rows(MemoryEntry, acme, kind="topic")
    texts = [f"{sort} tea steeps" for sort in ("oolong", "green", "white", "black")]
    agent.post("memory/write", {"nodes": [{"text": t, "user_id": "m"} for t in texts]}, 201)
    makers.settle()
    enqueue_topic_growths()
    makers.settle()
    with acting(acme):
        assert MemoryEntry.objects.of(acme).filter(kind="topic").count() == 1
        commits = Commit.objects.of(acme).count()
        enqueue_topic_growth(acme.pk)
    assert makers.settle() == 0
    assert makers.count(Commit, acme) == commits


def test_entry_without_vector_is_skipped(
    agent: Agent, acme: Account, provider: FakeProvider
) -> None:
    nodes = [{"text": f"{sort} tea steeps", "user_id": "mira"} for sort in ("green", "white")]
    agent.post("memory/write", {"nodes": nodes}, 201)
    run = grow_topics(acme.pk, SYSTEM)
    assert (run.created, run.unassigned, run.suggestions) == (0, 0, [])


def test_suggestions_for_merged_topics_are_hidden(acme: Account) -> None:
    one, two, three = topic(acme, "One", 3), topic(acme, "Two", 3), topic(acme, "Three", 3)
    with acting(acme):
        TopicSuggestion.objects.create(account=acme, kind="merge", topic=one, other=two, score=0.5)
        TopicSuggestion.objects.create(account=acme, kind="split", topic=three, score=0.4)
        assert [each.topic for each in topic_editing.open_suggestions(acme.pk)] == [one, three]
        topic_editing.merge_topics(makers.decision(two), three.pk)
        assert [each.topic for each in topic_editing.open_suggestions(acme.pk)] == [three]


def test_declined_merge_stays_declined(acme: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two, three = topic(acme, "One", 3), topic(acme, "Two", 4), topic(acme, "Three", 5)

    def merge(smaller: MemoryEntry, larger: MemoryEntry) -> TopicSuggestion:
        return TopicSuggestion(account=acme, kind="merge", topic=smaller, other=larger, score=0.5)

    with acting(acme):
        open_one = merge(one, two)
        open_one.save()
        topic_editing.decline_suggestion(acme.pk, open_one.pk, SYSTEM)
    result = [merge(two, one), merge(two, three)]
    assert refresh_suggestions(acme.pk, [*result, merge(two, three)]) == 1
    with acting(acme):
        assert [each.other for each in topic_editing.open_suggestions(acme.pk)] == [three]


def test_suggestions_are_decided(agent: Agent, acme: Account, provider: FakeProvider) -> None:
    small, large = topic(acme, "Oolong", 3), topic(acme, "Tea", 4)
    with acting(acme):
        open_one = TopicSuggestion.objects.create(
            account=acme, kind="merge", topic=small, other=large, score=0.5
        )
        topic_editing.decline_suggestion(acme.pk, open_one.pk, SYSTEM)
        with pytest.raises(NotFound):
            topic_editing.accept_suggestion(acme.pk, open_one.pk, SYSTEM)
    assert refresh_suggestions(acme.pk, grow_topics(acme.pk, SYSTEM).suggestions) == 0
    with acting(acme):
        saved = TopicSuggestion.objects.of(acme).get()
        assert (saved.state, saved.decided_by) == ("declined", "system")
        more = topic(acme, "More tea", 6)
        there = member_edges(acme.pk, more.pk).values_list("src_id", flat=True)
        ids = sorted(str(pk) for pk in there)
        query = TopicSuggestion.objects.create(
            account=acme, kind="split", topic=more, members=ids[:3], score=0.5
        )
        content, new = topic_editing.accept_suggestion(acme.pk, query.pk, SYSTEM)
        assert (content.topic_id, number(new), number(more)) == (more.pk, 3, 3)
        assert {UUID(each) for each in ids[:3]} == set(
            member_edges(acme.pk, new.pk).values_list("src_id", flat=True)
        )
        query.refresh_from_db()
        assert query.state == "followed"
    refresh_suggestions(acme.pk, ())
    assert not makers.rows(TopicSuggestion, acme, state="followed")
