"""Celery tasks of the pages: statistics and sessions."""

from celery import shared_task

from kmapp.accounts.sweep import sweep
from kmapp.web import sessions
from kmapp.web.statistics.daily import record_days
from kmapp.web.statistics.system import take_sample


@shared_task
def sample_system() -> None:
    take_sample()


@shared_task
def record_daily_statistics() -> None:
    sweep(record_days)


@shared_task
def delete_expired_sessions() -> int:
    return sessions.delete_expired_sessions()
