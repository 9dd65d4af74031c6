"""Deletion of old events and deliveries."""

from datetime import timedelta
from uuid import UUID

from django.db.models import Exists, OuterRef

from kmapp.accounts.acting import acting
from kmapp.accounts.for_each_account import run_for_each_account
from kmapp.database.steady_clock import SteadyTime
from kmapp.outbox.models import Delivery, OutboxEvent

PURGE_BLOCK = 5_000


def purge_block(account_id: UUID, *, older_than: timedelta) -> int:
    """Delete a block of old events whose deliveries are all done. Return the number of events."""
    undone = Delivery.objects.of(account_id).filter(event_id=OuterRef("pk"), done_at=None)
    done = OutboxEvent.objects.of(account_id).filter(created_at__lt=SteadyTime() - older_than)
    old = list(done.filter(~Exists(undone)).values_list("pk", flat=True)[:PURGE_BLOCK])
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
