"""Celery tasks of rules."""

from celery import shared_task

from kmapp.accounts.sweep import sweep
from rules.actions import suggestions
from rules.actions.retention import remove_outlived


@shared_task
def suggest() -> int:
    """Make the suggestions of all accounts anew. How many there are now."""
    return sum(sweep(suggestions.suggest))


@shared_task
def delete_expired_decisions() -> int:
    """Drop decisions that accounts no longer keep. How many that were."""
    return sum(sweep(remove_outlived))
