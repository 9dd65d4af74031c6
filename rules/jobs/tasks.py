"""Celery tasks of rules."""

from celery import shared_task

from kmapp.accounts.sweep import sweep
from rules.actions import retention, suggestions


@shared_task
def suggest() -> int:
    """Replace the suggestions of all accounts. Return their number."""
    return sum(sweep(suggestions.replace_suggestions))


@shared_task
def delete_expired_decisions() -> int:
    """Delete expired decisions of all accounts. Return their number."""
    return sum(sweep(retention.delete_expired_decisions))
