"""Celery tasks of the pages: statistics and sessions."""

from celery import shared_task

from kmapp.accounts.for_each_account import run_for_each_account
from kmapp.web import sessions
from kmapp.web.statistics.daily import record_days
from kmapp.web.statistics.system import take_sample


@shared_task
def sample_system() -> None:
    take_sample()


@shared_task
def record_daily_statistics() -> None:
    run_for_each_account(record_days)


@shared_task
def delete_expired_sessions() -> int:
    return sessions.delete_expired_sessions()
