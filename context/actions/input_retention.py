"""Retention of call inputs, their parts and summaries, and comparisons."""

from datetime import date, timedelta
from uuid import UUID

from django.db import connection
from django.db.models import Model

from context.models import (
    ContextBody,
    ContextComparison,
    ContextInput,
    ContextSettings,
    ContextSummary,
)
from context.models.settings import DEFAULT_INPUTS_DAYS
from kmapp.accounts.acting import acting
from kmapp.database.server_response_timeout import extend_statement_timeout
from kmapp.database.steady_clock import steady_time

BATCH = 1_000
SCAN_SECONDS = 60  # for a statement that reads the summaries of all conversations
ONE_DAY = timedelta(days=1)
# Condition of summaries that need not record which messages of their conversation memory has
# received: it received none with them, or a longer summary records the same messages.
UNNEEDED_SUMMARIES = """
NOT flushed OR EXISTS (
  SELECT FROM context_contextsummary longer
   WHERE longer.account_id = context_contextsummary.account_id
     AND longer.conversation_id = context_contextsummary.conversation_id
     AND longer.thread_id = context_contextsummary.thread_id
     AND longer.user_id = context_contextsummary.user_id
     AND longer.flushed AND longer.covers > context_contextsummary.covers
     AND longer.bodies[1:context_contextsummary.covers] = context_contextsummary.bodies)
"""


def inputs_days(settings: ContextSettings) -> int:
    return settings.inputs_days or DEFAULT_INPUTS_DAYS


def count_expiring_inputs(settings: ContextSettings, days: int | None) -> int:
    """Return how many stored inputs a shorter retention period would delete. Inside `acting`."""
    period = days or DEFAULT_INPUTS_DAYS
    if period >= inputs_days(settings):
        return 0
    cutoff = steady_time() - timedelta(days=period)
    return ContextInput.objects.of(settings.account_id).filter(created_at__lt=cutoff).count()


def remove_expired_inputs(account_id: UUID) -> int:
    """Delete expired inputs, summaries, parts and comparisons; return the number of inputs.

    A summary whose messages memory has received loses its text only, so that a later call of the
    conversation does not send them again.

    A part was last used on the day of its newest input or later, so that a part unused for the
    period and one more day has no references. Opens `acting` itself.
    """
    with acting(account_id):
        days = inputs_days(ContextSettings.objects.get_or_default(account_id))
        cutoff = steady_time() - timedelta(days=days)
        ContextComparison.objects.of(account_id).filter(created_at__lt=cutoff).delete()
    removed = _delete_before(account_id, ContextInput, "created_at", cutoff)
    _delete_before(account_id, ContextSummary, "created_at", cutoff, UNNEEDED_SUMMARIES)
    with acting(account_id):
        extend_statement_timeout(connection, SCAN_SECONDS)
        expired = ContextSummary.objects.of(account_id).filter(created_at__lt=cutoff)
        expired.exclude(text="").update(text="")
    _delete_before(account_id, ContextBody, "used_on", (cutoff - ONE_DAY).date())
    return removed


def _delete_before(
    account_id: UUID, model: type[Model], column: str, cutoff: date, condition: str = "TRUE"
) -> int:
    """Delete the rows before this moment, in batches; return their number."""
    removed = 0
    while deleted := _delete_batch(account_id, model._meta.db_table, column, cutoff, condition):
        removed += deleted
    return removed


def _delete_batch(account_id: UUID, table: str, column: str, cutoff: date, condition: str) -> int:
    with acting(account_id), connection.cursor() as cursor:
        extend_statement_timeout(connection, SCAN_SECONDS)
        cursor.execute(
            f"DELETE FROM {table} WHERE account_id = %s AND id IN (SELECT id FROM {table} "  # noqa: S608 - ours
            f"WHERE account_id = %s AND {column} < %s AND ({condition}) "
            f"ORDER BY {column} LIMIT %s) "
            f"AND {column} < %s",
            [account_id, account_id, cutoff, BATCH, cutoff],
        )
        return int(cursor.rowcount)
