"""Celery tasks of knowledge."""

from celery import shared_task

from kmapp.accounts.for_each_account import run_for_each_account
from knowledge.actions import images


@shared_task
def delete_orphaned_images() -> int:
    """Delete the images that no text contains, in all accounts. Return their number."""
    return sum(run_for_each_account(images.delete_orphaned_images))
