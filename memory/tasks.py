"""Celery's door to memory."""

from celery import shared_task

from kmapp.accounts.acting import acting
from kmapp.accounts.models import account_ids
from memory.actions.accesses import write_down
from memory.actions.owed import owe_topics
from memory.actions.retention import forget_outlived
from memory.actions.tiering import cool


@shared_task
def keep_to_retention() -> int:
    """Forget what the policies of all accounts no longer keep. How many memories that were."""
    return sum(forget_outlived(account_id) for account_id in account_ids())


@shared_task
def let_cool() -> int:
    """Move what nobody was told for long one tier down. How many memories that were."""
    return sum(cool(account_id) for account_id in account_ids())


@shared_task
def let_topics_grow() -> None:
    """Queue it for every account in which something was remembered since."""
    for account_id in account_ids():
        with acting(account_id):
            owe_topics(account_id)


@shared_task
def write_down_accesses() -> int:
    """Add what was counted since the last time to the memories of all accounts."""
    return sum(write_down(account_id) for account_id in account_ids())
