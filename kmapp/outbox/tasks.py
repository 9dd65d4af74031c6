"""Celery tasks of the outbox. A message contains only the name of a queue."""

from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import structlog
from celery import shared_task
from django.conf import settings

from kmapp.database.raw_sql import fetch_all
from kmapp.database.steady_clock import advance_clock
from kmapp.outbox import heartbeats, publish, purge
from kmapp.outbox.broker import AsyncPublisher, is_crowded
from kmapp.outbox.deliver import deliver_due, release
from kmapp.outbox.registry import MAX_RETRY_DELAY, QUEUES

__all__ = ["heartbeats"]  # importing it makes workers and the scheduler report heartbeats

log = structlog.get_logger()

# Tasks are short, because a worker that stops finishes its tasks, and queues take turns.
SLICE_SECONDS = 5.0
RETENTION = timedelta(days=7)  # of events that are done, so that their outcome can be requested


@shared_task(bind=True)
def deliver(self: Any, queue: str) -> int:
    task = UUID(self.request.id)
    if self.request.delivery_info.get("redelivered"):
        release(task)
    wake_another = partial(publish.wake, {queue})
    return deliver_due(queue, task=task, seconds=SLICE_SECONDS, wake_another=wake_another)


@shared_task
def sweep() -> None:
    """Wake every queue, for work of lost messages and lapsed leases.

    Also advance the steady time.
    """
    publish.wake(set(QUEUES))
    _follow_clock()


def _follow_clock() -> None:
    """Advance the steady time. If the clock went back, shorten waits and leases set before."""
    if not advance_clock():
        return
    values = [settings.OUTBOX_LEASE, MAX_RETRY_DELAY]
    [(deliveries,)] = fetch_all("SELECT hasten_deliveries(%s, %s)", values)
    log.warning("clock_went_back", deliveries=deliveries)


def send(queue: str) -> None:
    """Wake one worker of a queue, unless enough messages wait already."""
    if not is_crowded(queue):
        deliver.apply_async((queue,), queue=queue, retry=False)


publish.wake = AsyncPublisher(send).publish


@shared_task
def delete_old_events() -> int:
    return purge.purge_all(older_than=RETENTION)
