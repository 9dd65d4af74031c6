"""Deletion of old events and deliveries."""

from datetime import timedelta
from uuid import UUID

from django.db.models import Exists, OuterRef

from kmapp.accounts.acting import acting
from kmapp.accounts.for_each_account import run_for_each_account
from kmapp.database.steady_clock import steady_time
from kmapp.outbox.models import Delivery, OutboxEvent

PURGE_BLOCK = 5_000


def purge_block(account_id: UUID, *, older_than: timedelta) -> int:
    """Delete a block of events whose deliveries were all done before. Return the number of events.

    The age counts from the end of the last delivery, so that the outcome of a job that took long
    can be requested as long as that of any other.
    """
    before = steady_time() - older_than  # once, not for each row
    deliveries = Delivery.objects.of(account_id).filter(event_id=OuterRef("pk"))
    undone, recent = deliveries.filter(done_at=None), deliveries.filter(done_at__gte=before)
    events = OutboxEvent.objects.of(account_id).filter(created_at__lt=before)
    done = events.filter(~Exists(undone), ~Exists(recent))
    old = list(done.values_list("pk", flat=True)[:PURGE_BLOCK])
    Delivery.objects.of(account_id).filter(event_id__in=old).delete()
    return OutboxEvent.objects.of(account_id).filter(pk__in=old).delete()[0]


def purge_account(account_id: UUID, older_than: timedelta) -> int:
    total = 0
    while True:
        with acting(account_id):
            dropped = purge_block(account_id, older_than=older_than)
        total += dropped
        if dropped < PURGE_BLOCK:
            return total


def purge_all(*, older_than: timedelta) -> int:
    return sum(run_for_each_account(lambda account_id: purge_account(account_id, older_than)))
