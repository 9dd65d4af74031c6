"""Celery tasks of context."""

from uuid import UUID

from celery import shared_task

from context.actions.archives import remove_expired_archives
from context.actions.backfill_lookup_keys import backfill_lookup_keys
from context.actions.input_retention import remove_expired_inputs
from kmapp.accounts.for_each_account import run_for_each_account


@shared_task
def delete_expired_archives() -> int:
    """Delete expired tool results and inputs. Return their number."""
    return sum(run_for_each_account(_remove_expired))


def _remove_expired(account_id: UUID) -> int:
    inputs = remove_expired_inputs(account_id)
    backfill_lookup_keys(account_id)
    return inputs + remove_expired_archives(account_id)
