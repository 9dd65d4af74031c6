"""Celery tasks of the API."""

from celery import shared_task

from kmapp.api.idempotency import delete_expired_responses


@shared_task
def delete_old_responses() -> int:
    return delete_expired_responses()
