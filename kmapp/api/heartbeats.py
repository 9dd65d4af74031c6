"""Heartbeats of processes without a port, written while they work and expiring soon.

How long ago is told by how long the sign still lives: hosts may differ about the time of day.
"""

from time import monotonic
from typing import Any, cast

from celery.signals import before_task_publish, heartbeat_sent
from django.core.cache import cache

from kmapp.api.cache import ValkeyCache

EVERY = 5.0  # seconds between two writes
SILENT = 60  # seconds after which a process counts as gone
SCHEDULED = "kmapp.outbox.tasks.sweep"  # only the scheduler publishes it

_written: dict[str, float] = {}


def beat(process: str) -> None:
    """Say that this kind of process lives."""
    if monotonic() - _written.get(process, -EVERY) >= EVERY:
        _written[process] = monotonic()
        cache.set(f"pulse:{process}", 1, SILENT)


def forget(process: str) -> None:
    """Forget the last heartbeat before the process starts."""
    cache.delete(f"pulse:{process}")


def last_seen(process: str) -> int | None:
    """Seconds since it showed life, or None: it is gone, or the cache is."""
    left = cast(ValkeyCache, cache).run("return redis.call('TTL', KEYS[1])", f"pulse:{process}")
    return None if left is None or left < 0 else SILENT - int(left)


@heartbeat_sent.connect
def worker_lives(**_kwargs: Any) -> None:
    """Celery's own heartbeat, every 2 s from the worker's main process."""
    beat("worker")


@before_task_publish.connect(sender=SCHEDULED)
def scheduler_lives(**_kwargs: Any) -> None:
    beat("scheduler")
