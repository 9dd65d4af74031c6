"""Celery's door to memory."""

from uuid import UUID

from celery import shared_task

from kmapp.accounts.acting import acting
from kmapp.accounts.sweep import sweep
from memory.actions.accesses import write_down
from memory.actions.enqueue import owe_topics
from memory.actions.retention import forget_outlived
from memory.actions.tiers import cool


@shared_task
def keep_to_retention() -> int:
    """Forget what the policies of all accounts no longer keep. How many memories that were."""
    return sum(sweep(forget_outlived))


@shared_task
def let_cool() -> int:
    """Move what nobody was told for long one tier down. How many memories that were."""
    return sum(sweep(cool))


@shared_task
def let_topics_grow() -> None:
    """Queue it for every account in which something was remembered since."""
    sweep(_owe_topics)


@shared_task
def write_down_accesses() -> int:
    """Add what was counted since the last time to the memories of all accounts."""
    return sum(sweep(write_down))


def _owe_topics(account_id: UUID) -> None:
    with acting(account_id):
        owe_topics(account_id)
