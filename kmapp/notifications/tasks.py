"""Celery tasks of notifications."""

from celery import shared_task

from kmapp.accounts.for_each_account import run_for_each_account
from kmapp.notifications.digests import refresh_account


@shared_task
def refresh_notifications() -> int:
    """Close what is resolved, and enqueue the digests that are due; return their number."""
    return sum(run_for_each_account(refresh_account))
