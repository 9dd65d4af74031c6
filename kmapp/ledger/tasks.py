"""Celery tasks of the ledger."""

from celery import shared_task

from kmapp.ledger import checkpoints


@shared_task
def checkpoint() -> int:
    """Sign the heads that moved. How many chains were looked at with something to sign."""
    return len(checkpoints.checkpoint())
