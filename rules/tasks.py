"""Doors for Celery; nothing else imports this."""

from celery import shared_task

from rules.actions.suggestions import suggest_all


@shared_task
def suggest() -> int:
    return suggest_all()
