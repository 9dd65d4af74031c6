"""Celery's door to context."""

from celery import shared_task

from context.actions.archives import remove_outlived
from context.actions.retention import remove_old_inputs
from kmapp.accounts.models import account_ids


@shared_task
def keep_to_retention() -> int:
    """Let go of tool results and inputs that accounts no longer keep. How many that were."""
    return sum(
        remove_outlived(account_id) + remove_old_inputs(account_id) for account_id in account_ids()
    )
