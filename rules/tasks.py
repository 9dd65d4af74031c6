"""Doors for Celery; nothing else imports this."""

from celery import shared_task

from kmapp.accounts.models import account_ids
from rules.actions.retention import remove_outlived
from rules.actions.suggestions import suggest_all


@shared_task
def suggest() -> int:
    return suggest_all()


@shared_task
def keep_to_retention() -> int:
    """Drop decisions that accounts no longer keep. How many that were."""
    return sum(remove_outlived(account_id) for account_id in account_ids())
