"""A task for all accounts continues after an account that fails."""

from collections.abc import Callable
from importlib import import_module
from typing import Any
from unittest.mock import Mock
from uuid import UUID

import pytest
from celery.exceptions import SoftTimeLimitExceeded
from django.db import connection
from prometheus_client import REGISTRY
from structlog.testing import capture_logs

from kmapp.accounts import for_each_account
from kmapp.accounts.acting import acting
from kmapp.accounts.for_each_account import AccountsFailed, run_for_each_account
from kmapp.accounts.models import Account, account_ids
from kmapp.errors import ReadOnly
from memory.jobs import tasks

# Tasks, and the function that each calls for an account.
SWEEPS = [
    ("memory.jobs.tasks.forget_expired_memories", "memory.jobs.tasks.apply_retention"),
    ("memory.jobs.tasks.demote_unused_memories", "memory.jobs.tasks.demote_unused_entries"),
    ("memory.jobs.tasks.enqueue_topic_growths", "memory.jobs.tasks.enqueue_topic_growth"),
    ("memory.jobs.tasks.store_access_counts", "memory.jobs.tasks.flush_access_counts"),
    ("rules.jobs.tasks.suggest", "rules.actions.suggestions.replace_suggestions"),
    (
        "rules.jobs.tasks.delete_expired_decisions",
        "rules.actions.retention.delete_expired_decisions",
    ),
    (
        "knowledge.jobs.tasks.delete_orphaned_images",
        "knowledge.actions.images.delete_orphaned_images",
    ),
    ("context.jobs.tasks.delete_expired_archives", "context.jobs.tasks.remove_expired_archives"),
    ("kmapp.api.tasks.delete_old_responses", "kmapp.api.idempotency._delete_expired"),
    ("kmapp.outbox.tasks.delete_old_events", "kmapp.outbox.purge.purge_block"),
    ("kmapp.ledger.tasks.checkpoint", "kmapp.ledger.checkpoints._copy_to_database"),
]


def unserved() -> float:
    return REGISTRY.get_sample_value("kmapp_accounts_unserved_total") or 0.0


class Failed(Exception):
    """The failure of an account."""


def failing(served: list[UUID], real: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that fails for the first account and calls `real` for others."""

    def serve(account_id: UUID, *args: Any, **kwargs: Any) -> Any:
        served.append(account_id)
        if len(served) == 1:
            raise Failed
        return real(account_id, *args, **kwargs)

    return serve


def test_failing_account_does_not_block_the_next(
    acme: Account, rival: Account, monkeypatch: pytest.MonkeyPatch, subtests: pytest.Subtests
) -> None:
    for task, function in SWEEPS:
        with subtests.test(task), monkeypatch.context() as patch:
            module, name = function.rsplit(".", 1)
            served: list[UUID] = []
            patch.setattr(function, failing(served, getattr(import_module(module), name)))
            module, name = task.rsplit(".", 1)
            with pytest.raises(AccountsFailed, match="1 of 2 accounts"):
                getattr(import_module(module), name)()
            assert served == account_ids()


@pytest.mark.parametrize(
    ("task", "failing_step", "other_step"),
    [
        ("forget_expired_memories", "remove_old_comparisons", "apply_retention"),
        ("store_access_counts", "store_observations", "flush_access_counts"),
    ],
)
def test_failing_step_does_not_block_the_other(
    acme: Account, monkeypatch: pytest.MonkeyPatch, task: str, failing_step: str, other_step: str
) -> None:
    other = Mock(return_value=0)
    monkeypatch.setattr(tasks, failing_step, failing([], lambda account_id: 0))
    monkeypatch.setattr(tasks, other_step, other)
    with pytest.raises(AccountsFailed, match="1 of 1 accounts"):
        getattr(tasks, task)()
    other.assert_called_once_with(acme.pk)


def test_failing_account_is_logged_and_counted(acme: Account, rival: Account) -> None:
    assert run_for_each_account(lambda account_id: account_id) == account_ids()
    before, first = unserved(), account_ids()[0]
    with capture_logs() as lines, pytest.raises(AccountsFailed) as refused:
        run_for_each_account(failing([], lambda account_id: account_id))
    assert isinstance(refused.value.__cause__, Failed)
    assert [(each["account"], each["exc_info"]) for each in lines] == [(str(first), True)]
    assert unserved() == before + 1


def test_read_only_account_is_skipped(acme: Account, rival: Account) -> None:
    before, first = unserved(), account_ids()[0]

    def serve(account_id: UUID) -> UUID:
        if account_id == first:
            raise ReadOnly("Its ledger is older than its checkpoint.", retry_after=60)
        return account_id

    assert run_for_each_account(serve) == account_ids()[1:]
    assert unserved() == before


def test_timed_out_task_stops(acme: Account, rival: Account) -> None:
    served: list[UUID] = []

    def slow(account_id: UUID) -> None:
        served.append(account_id)
        raise SoftTimeLimitExceeded

    with pytest.raises(SoftTimeLimitExceeded):
        run_for_each_account(slow)
    assert len(served) == 1


def terminating(served: list[UUID], outages: int) -> Callable[[UUID], UUID]:
    """Return a function that loses its connection in its first calls."""

    def serve(account_id: UUID) -> UUID:
        served.append(account_id)
        with acting(account_id), connection.cursor() as cursor:
            if len(served) <= outages:
                cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        return account_id

    return serve


@pytest.mark.usefixtures("committed")
def test_pauses_while_the_database_is_unreachable(
    acme: Account, rival: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The outage is logged once, and the run continues with the account where it stopped."""
    served: list[UUID] = []
    reachable = iter([False, False])
    is_reachable = for_each_account._is_reachable  # noqa: SLF001
    monkeypatch.setattr(for_each_account, "_is_reachable", lambda: next(reachable, is_reachable()))
    pauses: list[float] = []
    monkeypatch.setattr(for_each_account, "sleep", pauses.append)

    with capture_logs() as lines:
        assert run_for_each_account(terminating(served, 1)) == account_ids()
    first, second = account_ids()
    assert served == [first, first, second]
    assert [each["event"] for each in lines] == ["sweep_paused", "sweep_resumed"]
    assert pauses == [for_each_account.RETRY_SECONDS] * 2


@pytest.mark.usefixtures("committed")
def test_pauses_again_if_the_database_is_lost_again(acme: Account, rival: Account) -> None:
    served: list[UUID] = []
    assert run_for_each_account(terminating(served, 2)) == account_ids()
    first, second = account_ids()
    assert served == [first, first, first, second]


@pytest.mark.usefixtures("committed")
def test_account_that_breaks_every_connection_does_not_block_the_next(
    acme: Account, rival: Account
) -> None:
    served: list[UUID] = []
    attempts = for_each_account.MAX_OUTAGES + 1
    with pytest.raises(AccountsFailed, match="1 of 2 accounts"):
        run_for_each_account(terminating(served, attempts))
    first, second = account_ids()
    assert served == [first] * attempts + [second]
