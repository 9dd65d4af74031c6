"""Celery's door to memory."""

from uuid import UUID

from celery import shared_task

from kmapp.accounts.acting import acting
from kmapp.accounts.sweep import sweep
from memory.actions.enqueue import enqueue_topic_growth
from memory.actions.retention import apply_retention
from memory.actions.tiers import demote_unused_entries, flush_access_counts


@shared_task
def forget_expired_memories() -> int:
    """Forget what the policies of all accounts no longer keep. How many memories that were."""
    return sum(sweep(apply_retention))


@shared_task
def let_cool() -> int:
    """Move what nobody was told for long one tier down. How many memories that were."""
    return sum(sweep(demote_unused_entries))


@shared_task
def let_topics_grow() -> None:
    """Queue it for every account in which something was remembered since."""
    sweep(_enqueue_topic_growth)


@shared_task
def write_down_accesses() -> int:
    """Add what was counted since the last time to the memories of all accounts."""
    return sum(sweep(flush_access_counts))


def _enqueue_topic_growth(account_id: UUID) -> None:
    with acting(account_id):
        enqueue_topic_growth(account_id)
