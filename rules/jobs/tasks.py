"""Celery tasks of rules."""

from celery import shared_task

from kmapp.accounts.for_each_account import run_for_each_account
from rules.actions import retention, suggestions


@shared_task
def suggest() -> int:
    """Replace the suggestions of all accounts. Return their number."""
    return sum(run_for_each_account(suggestions.replace_suggestions))


@shared_task
def delete_expired_decisions() -> int:
    """Delete expired decisions of all accounts. Return their number."""
    return sum(run_for_each_account(retention.delete_expired_decisions))
