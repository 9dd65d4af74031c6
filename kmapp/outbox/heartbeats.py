"""Heartbeats of processes without a port: cache keys with a short lifetime.

The age of a heartbeat is computed from its remaining lifetime, because clocks of hosts may differ.
"""

from time import monotonic
from typing import Any

from celery.signals import before_task_publish, heartbeat_sent

from kmapp.runtime.cache_backend import valkey_cache

INTERVAL_SECONDS = 5.0  # seconds between two writes
MAX_AGE_SECONDS = 60  # seconds after which a process counts as gone
SCHEDULED = "kmapp.outbox.tasks.sweep"  # only the scheduler publishes it

_written: dict[str, float] = {}


def record_heartbeat(process: str) -> None:
    if monotonic() - _written.get(process, -INTERVAL_SECONDS) >= INTERVAL_SECONDS:
        _written[process] = monotonic()
        valkey_cache.set(f"pulse:{process}", 1, MAX_AGE_SECONDS)


def delete_heartbeat(process: str) -> None:
    """Delete the last heartbeat before the process starts."""
    valkey_cache.delete(f"pulse:{process}")


def get_heartbeat_age(process: str) -> int | None:
    """Return the seconds since the last heartbeat, or None without one or without the cache."""
    left = valkey_cache.run("return redis.call('TTL', KEYS[1])", f"pulse:{process}")
    return None if left is None or left < 0 else MAX_AGE_SECONDS - int(left)


@heartbeat_sent.connect
def record_worker_heartbeat(**_kwargs: Any) -> None:
    """Record the heartbeat that Celery sends every 2 s from the worker's main process."""
    record_heartbeat("worker")


@before_task_publish.connect(sender=SCHEDULED)
def record_scheduler_heartbeat(**_kwargs: Any) -> None:
    record_heartbeat("scheduler")
