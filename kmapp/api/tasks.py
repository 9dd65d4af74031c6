"""Celery's doors to the API's own housekeeping."""

from celery import shared_task

from kmapp.api import pulse
from kmapp.api.idempotency import drop_expired

__all__ = ["pulse"]  # imported so that workers and the scheduler show signs of life


@shared_task
def drop_expired_answers() -> int:
    return drop_expired()
