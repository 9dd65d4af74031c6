"""Celery tasks of the API."""

from celery import shared_task

from kmapp.api import heartbeats
from kmapp.api.idempotency import delete_expired_responses

__all__ = ["heartbeats"]  # importing it makes workers and the scheduler report heartbeats


@shared_task
def delete_old_responses() -> int:
    return delete_expired_responses()
