"""Celery's door to context."""

from uuid import UUID

from celery import shared_task

from context.actions.archives import remove_outlived
from context.actions.backfill_markers import mark_all
from context.actions.retention import remove_old_inputs
from kmapp.accounts.sweep import sweep


@shared_task
def keep_to_retention() -> int:
    """Let go of tool results and inputs that accounts no longer keep. How many that were."""
    return sum(sweep(_let_go))


def _let_go(account_id: UUID) -> int:
    gone = remove_old_inputs(account_id)
    mark_all(account_id)
    return gone + remove_outlived(account_id)
