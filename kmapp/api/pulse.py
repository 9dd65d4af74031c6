"""Signs of life of the processes that serve nobody: a time in the cache, written as they work."""

import time
from time import monotonic
from typing import Any

from celery.signals import before_task_publish, heartbeat_sent
from django.core.cache import cache

EVERY = 5.0  # seconds between two writes
SILENT = 60  # seconds after which a process counts as gone
SCHEDULED = "kmapp.outbox.tasks.sweep"  # only the scheduler publishes it

_written: dict[str, float] = {}


def beat(process: str) -> None:
    """Say that this kind of process lives."""
    if monotonic() - _written.get(process, -EVERY) >= EVERY:
        _written[process] = monotonic()
        cache.set(f"pulse:{process}", int(time.time()), SILENT)


def last_seen(process: str) -> int | None:
    """Seconds since it showed life, or None: it is gone, or the cache is."""
    seen = cache.get(f"pulse:{process}")
    return None if seen is None else max(0, int(time.time()) - seen)


@heartbeat_sent.connect
def worker_lives(**_kwargs: Any) -> None:
    """Celery's own heartbeat, every 2 s from the worker's main process."""
    beat("worker")


@before_task_publish.connect(sender=SCHEDULED)
def scheduler_lives(**_kwargs: Any) -> None:
    beat("scheduler")
