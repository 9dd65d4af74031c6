"""Watchdog that restarts a worker which no longer receives messages.

After an outage of the broker, Celery's consumer can wait forever in a process that looks alive. A
thread of the worker compares the messages in its queues with those that it receives.
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

from kmapp.outbox.broker import count_messages

log = structlog.get_logger()

CHECK_SECONDS = 5.0
# Seconds for an idle worker. While the broker is away, Celery waits up to 30 s between two attempts
# to connect. The last attempt that fails may end 7 s after the broker is back (2 s to connect, 5 s
# to read), and messages count from the last check, up to 5 s before.
IDLE_TIMEOUT_SECONDS = 45.0
BUSY_MARGIN_SECONDS = 60.0  # seconds beyond the time limit of a task


@dataclass(kw_only=True)
class ConsumerWatchdog:
    """Detects that messages have waited for a while and none was received."""

    count_waiting: Callable[[], int]  # messages in the queues of this worker; 0 if unknown
    count_received: Callable[[], int]  # messages since the start
    is_busy: Callable[[], bool]
    clock: Callable[[], float] = time.monotonic
    _received: int = field(default=-1, init=False)
    _since: float = field(default=0.0, init=False)

    def is_stalled(self) -> bool:
        """Call it regularly. A busy worker receives nothing, for at most the time of a task."""
        now, received = self.clock(), self.count_received()
        if received != self._received or not self.count_waiting():
            self._received, self._since = received, now
        timeout = (
            settings.CELERY_TASK_TIME_LIMIT + BUSY_MARGIN_SECONDS
            if self.is_busy()
            else IDLE_TIMEOUT_SECONDS
        )
        return now - self._since >= timeout


def start_watchdog(
    queues: Sequence[str], children: Callable[[], Iterable[int]]
) -> threading.Thread:
    """Watch the worker of this process; `children` are the processes of its pool."""
    watchdog = ConsumerWatchdog(
        count_waiting=lambda: count_messages(queues),
        count_received=lambda: sum(state.total_count.values()),
        is_busy=lambda: bool(state.reserved_requests),
    )

    def check_forever() -> None:
        while not is_stopping():
            if watchdog.is_stalled():
                log.error("worker_deaf", queues=list(queues))
                restart_process(children())
            time.sleep(CHECK_SECONDS)

    thread = threading.Thread(target=check_forever, name="consumer_watchdog", daemon=True)
    thread.start()
    return thread


def is_stopping() -> bool:
    """Return whether the worker finishes its tasks and receives no others, as after SIGTERM."""
    exit_codes: tuple[object, ...] = (state.should_stop, state.should_terminate)  # 0 after SIGTERM
    return any(code is not None and code is not False for code in exit_codes)


def restart_process(children: Iterable[int]) -> None:
    for pid in children:
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 - as it was called


def list_pool_processes(consumer: Any) -> list[int]:
    return [process.pid for process in consumer.pool._pool._pool]  # noqa: SLF001
