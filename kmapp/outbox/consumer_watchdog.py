"""Watchdog that restarts a worker which no longer receives messages.

After its broker died and came back, Celery's consumer can be left waiting for ever, in a process
that looks alive to everybody else. A thread beside it compares what waits with what is taken.
"""

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import structlog
from celery.worker import state
from django.conf import settings

from kmapp.outbox.queue_depth import waiting

log = structlog.get_logger()

CHECK_INTERVAL = 5.0  # seconds between two looks
PATIENCE = 30.0  # seconds, for a worker that has nothing to do
MARGIN = 60.0  # seconds beyond the longest that a task may take


@dataclass(kw_only=True)
class ConsumerWatchdog:
    """Tells whether work has waited all the time while none was taken."""

    waiting: Callable[[], int]  # messages in the queues of this worker; 0 if nobody can tell
    received: Callable[[], int]  # messages that it ever took
    busy: Callable[[], bool]
    clock: Callable[[], float] = time.monotonic
    _received: int = field(default=-1, init=False)
    _since: float = field(default=0.0, init=False)

    def is_deaf(self) -> bool:
        """To be asked again and again. Busy hands take nothing, but not for longer than a task."""
        now, received = self.clock(), self.received()
        if received != self._received or not self.waiting():
            self._received, self._since = received, now
        longest = settings.CELERY_TASK_TIME_LIMIT + MARGIN if self.busy() else PATIENCE
        return now - self._since >= longest


def start_watchdog(
    queues: Sequence[str], children: Callable[[], Iterable[int]]
) -> threading.Thread:
    """Watch over the worker of this process; `children` are the processes of its pool."""
    watchdog = ConsumerWatchdog(
        waiting=lambda: waiting(queues),
        received=lambda: sum(state.total_count.values()),
        busy=lambda: bool(state.reserved_requests),
    )

    def check_forever() -> None:
        while not watchdog.is_deaf():
            time.sleep(CHECK_INTERVAL)
        log.error("worker_deaf", queues=list(queues))
        start_anew(children())

    thread = threading.Thread(target=check_forever, name="watchman", daemon=True)
    thread.start()
    return thread


def start_anew(children: Iterable[int]) -> None:
    """Run this program again in this very process, without the children it had."""
    for pid in children:
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - as it was called


def pool_of(consumer: Any) -> list[int]:
    return [process.pid for process in consumer.pool._pool._pool]  # noqa: SLF001
