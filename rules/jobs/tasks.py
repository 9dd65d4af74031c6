"""Celery tasks of rules."""

from uuid import UUID

from celery import shared_task

from kmapp.accounts.for_each_account import run_for_each_account
from rules.actions import retention, suggestions


@shared_task
def suggest() -> int:
    """Replace the suggestions of all accounts, and return their number.

    Accounts with few rules are first, because one with many may exceed the time limit of the task.
    """
    counts = run_for_each_account(_count_rules)
    accounts = [account_id for _number, account_id in sorted(counts)]
    return sum(run_for_each_account(suggestions.replace_suggestions, accounts))


def _count_rules(account_id: UUID) -> tuple[int, UUID]:
    return suggestions.count_evaluated_rules(account_id), account_id


@shared_task
def delete_expired_decisions() -> int:
    """Delete expired decisions of all accounts. Return their number."""
    return sum(run_for_each_account(retention.delete_expired_decisions))
