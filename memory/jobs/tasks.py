"""Celery tasks of memory."""

from uuid import UUID

from celery import shared_task

from kmapp.accounts.for_each_account import run_for_each_account
from memory.actions.access_counts import flush_access_counts
from memory.actions.follow_up_jobs import enqueue_topic_growth
from memory.actions.retention import apply_retention
from memory.actions.shadow_comparisons import remove_old_comparisons, store_observations
from memory.actions.tiers import demote_unused_entries


@shared_task
def forget_expired_memories() -> int:
    """Forget memories past their retention in all accounts, and return how many."""
    return sum(run_for_each_account(_forget_expired))


@shared_task
def demote_unused_memories() -> int:
    """Move memories without recent recalls one tier down, and return how many."""
    return sum(run_for_each_account(demote_unused_entries))


@shared_task
def enqueue_topic_growths() -> None:
    """Enqueue the growth of topics for every account with new memories."""
    run_for_each_account(enqueue_topic_growth)


@shared_task
def store_access_counts() -> int:
    """Store the counted recalls of all accounts, and return their number."""
    return sum(run_for_each_account(_store_counts))


def _forget_expired(account_id: UUID) -> int:
    try:
        remove_old_comparisons(account_id)
    finally:  # the failure of one step does not prevent the other
        forgotten = apply_retention(account_id)
    return forgotten


def _store_counts(account_id: UUID) -> int:
    try:
        store_observations(account_id)
    finally:
        recalled = flush_access_counts(account_id)
    return recalled
