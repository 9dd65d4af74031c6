"""Celery's scheduler, adapted to clock changes and absent workers."""

from typing import Any

import structlog
from celery.beat import PersistentScheduler
from django.conf import settings

from kmapp.outbox.broker import is_crowded
from kmapp.outbox.heartbeats import record_heartbeat

log = structlog.get_logger()


class Scheduler(PersistentScheduler):
    """A scheduler with its times in a file, so that hourly tasks run despite frequent restarts."""

    def setup_schedule(self) -> None:
        """Open the file. Create its folder first, because a scheduler needs no other file there."""
        settings.DATA_DIR.mkdir(parents=True, exist_ok=True)
        super().setup_schedule()

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """Do one step. After the clock was set back, runs in the future count as runs now."""
        for entry in self.schedule.values():
            now = entry.default_now()
            if entry.last_run_at and entry.last_run_at > now:
                entry.last_run_at = now
                self._heap = None  # it contains the former times
        return float(super().tick(*args, **kwargs))

    def sync(self) -> None:
        """Store the times, or continue without, because the disk may be full or read-only."""
        try:
            super().sync()
        except OSError as error:
            # A failed `sync` of a shelf turns this off, and later ones would store nothing.
            self._store.writeback = True  # type: ignore[attr-defined]
            log.warning("schedule_not_stored", error=type(error).__name__)

    def apply_async(self, entry: Any, *args: Any, **kwargs: Any) -> Any:
        """Send a task, unless enough messages wait already, as without a worker."""
        queue = entry.options.get("queue", self.app.conf.task_default_queue)
        if is_crowded(queue):
            record_heartbeat("scheduler")  # otherwise, the message of the sweep does it
            return None
        return super().apply_async(entry, *args, **kwargs)
