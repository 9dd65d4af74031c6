"""Celery tasks of rules."""

from celery import shared_task

from kmapp.accounts.sweep import sweep
from rules.actions import suggestions
from rules.actions.retention import remove_outlived


@shared_task
def suggest() -> int:
    """Replace the suggestions of all accounts. Return their number."""
    return sum(sweep(suggestions.suggest))


@shared_task
def delete_expired_decisions() -> int:
    """Delete expired decisions of all accounts. Return their number."""
    return sum(sweep(remove_outlived))
