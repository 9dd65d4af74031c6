"""Transactions lock memories in the order of their ids, so that they wait and do not deadlock."""

from collections.abc import Callable, Sequence
from typing import Any
from unittest.mock import Mock

import pytest
from django.db import OperationalError

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.errors import Conflict
from memory.actions import access_counts, bulk_review, rankings, review, topic_growth
from memory.actions.access_counts import flush_access_counts
from memory.actions.entry_locks import lock_entry
from memory.actions.topic_editing import decline_suggestion, merge_topics, refresh_suggestions
from memory.actions.topic_growth import GrowthResult, TopicChange, member_edges
from memory.actions.write_entries import propose_update
from memory.models import BulkRun, MemoryEntry, Ranking, TopicSuggestion
from memory.retrieval.access_counters import count_accesses
from memory.retrieval.shared_audience import Audience
from tests import makers
from tests.race import run_concurrently

pytestmark = pytest.mark.usefixtures("module_commits")


def check_order(
    account: Account, entries: Sequence[MemoryEntry], operation: Callable[[], object]
) -> None:
    """Check that an operation locks the first entry before the others.

    Another transaction locks the first one, and the others once the operation waits for it. If the
    operation already held one of them, both would deadlock.
    """
    first, *others = sorted(entry.pk for entry in entries)

    def lock_others() -> None:
        for pk in others:
            lock_entry(account.pk, pk)

    def operate() -> None:
        with acting(account):
            operation()

    run_concurrently(account, lambda: lock_entry(account.pk, first), operate, then=lock_others)


def propose(old: MemoryEntry) -> MemoryEntry:
    """Propose a change, so that the proposal supersedes the memory when it is approved."""
    with acting(old.account_id):
        return propose_update(makers.decision(old), {"content": f"Not {old.content}"})


def test_approval_and_undo_lock_in_order(acme: Account) -> None:
    [old] = makers.write(acme, "Ann drinks tea.")
    proposal = propose(old)
    check_order(acme, [old, proposal], lambda: review.approve(makers.decision(proposal)))
    assert makers.reload(old).status == "superseded"
    check_order(acme, [old, proposal], lambda: review.undo(makers.decision(proposal)))
    assert makers.reload(old).status == "active"


def test_bulk_approval_locks_in_order(acme: Account) -> None:
    [old] = makers.write(acme, "Ann drinks tea.")
    proposal = propose(old)

    def approve() -> None:
        chosen = [(proposal.pk, proposal.version)]
        bulk_review.start_run(acme.pk, SYSTEM, BulkRun.Operation.APPROVE, chosen, "")

    check_order(acme, [old, proposal], approve)
    assert makers.reload(old).status == "superseded"


def test_merge_of_topics_locks_in_order(acme: Account) -> None:
    topics = makers.write(acme, "Drinks", "Tea", kind="topic")
    drinks, tea = sorted(topics, key=lambda each: each.pk)
    check_order(acme, [drinks, tea], lambda: merge_topics(makers.decision(tea), drinks.pk))
    assert makers.reload(tea).status == "superseded"


def test_growth_of_topics_locks_all_members_in_order(acme: Account) -> None:
    first, second, third, last = sorted(
        makers.write(acme, *(f"Memory {n} of tea." for n in range(4))), key=lambda each: each.pk
    )
    drinks, tea = makers.write(acme, "Drinks", "Tea", kind="topic")
    audience = Audience.of_entry(first)
    changes = [
        TopicChange(audience=audience, ids=[second.pk, last.pk], topic=tea.pk),
        TopicChange(audience=audience, ids=[first.pk, third.pk], topic=drinks.pk),
    ]

    def lock_like_an_erasure(entry: MemoryEntry) -> None:
        rows = MemoryEntry.objects.of(acme).filter(pk=entry.pk).select_for_update()
        assert rows.values_list("pk", flat=True).get() == entry.pk

    def grow() -> None:
        topic_growth._apply_changes(acme.pk, SYSTEM, changes, GrowthResult())  # noqa: SLF001

    run_concurrently(
        acme, lambda: lock_like_an_erasure(first), grow, then=lambda: lock_like_an_erasure(second)
    )
    with acting(acme):
        assert [member_edges(acme.pk, topic.pk).count() for topic in (tea, drinks)] == [2, 2]


def test_growth_of_topics_locks_topics_before_members(acme: Account) -> None:
    [entry] = makers.write(acme, "Ann drinks tea.")
    [topic] = makers.write(acme, "Tea", kind="topic")
    change = TopicChange(audience=Audience.of_entry(entry), ids=[entry.pk], topic=topic.pk)

    def grow() -> None:
        topic_growth._apply_changes(acme.pk, SYSTEM, [change], GrowthResult())  # noqa: SLF001

    def lock_member_for_update() -> None:
        list(MemoryEntry.objects.of(acme).filter(pk=entry.pk).select_for_update())

    run_concurrently(acme, lambda: lock_entry(acme.pk, topic.pk), grow, then=lock_member_for_update)
    with acting(acme):
        assert member_edges(acme.pk, topic.pk).count() == 1


def test_refresh_of_suggestions_waits_for_a_decision(acme: Account) -> None:
    one, two = makers.write(acme, "One", "Two", kind="topic")
    values: dict[str, Any] = {"account": acme, "kind": "merge", "score": 0.5}
    with acting(acme):
        declined = TopicSuggestion.objects.create(topic=one, other=two, **values)
    again = TopicSuggestion(topic=two, other=one, **values)
    number = run_concurrently(
        acme,
        lambda: decline_suggestion(acme.pk, declined.pk, SYSTEM),
        lambda: refresh_suggestions(acme.pk, [again]),
    )
    assert number == 0
    assert makers.get(TopicSuggestion, acme).state == "declined"


def test_access_counts_are_stored_in_order(acme: Account) -> None:
    entries = makers.write(acme, *(f"Memory {n}." for n in range(30)))
    count_accesses(acme.pk, [entry.pk for entry in reversed(entries)])
    check_order(acme, entries, lambda: flush_access_counts(acme.pk))
    assert {row.access_count for row in makers.rows(MemoryEntry, acme)} == {1}


def test_access_counts_outlive_a_failure(acme: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    [entry] = makers.write(acme, "Ann drinks tea.")
    for _ in range(3):
        count_accesses(acme.pk, [entry.pk])
    with monkeypatch.context() as patch:
        patch.setattr(access_counts, "lock_entries", Mock(side_effect=OperationalError))
        with pytest.raises(OperationalError):
            flush_access_counts(acme.pk)
    assert flush_access_counts(acme.pk) == 1
    assert makers.reload(entry).access_count == 3


def test_concurrent_learning_is_a_conflict(acme: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rankings, "require_questions", lambda questions: None)

    def start() -> Ranking:
        with acting(acme):
            return rankings.start_learning(acme.pk, SYSTEM)

    with pytest.raises(Conflict, match="being learned"):
        run_concurrently(acme, start, start)
    assert makers.count(Ranking, acme) == 1
