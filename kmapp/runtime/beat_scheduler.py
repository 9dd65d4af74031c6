"""Celery's scheduler, adapted to clock changes and absent workers."""

from typing import Any

from celery.beat import PersistentScheduler

from kmapp.outbox.queue_depth import is_crowded


class Scheduler(PersistentScheduler):
    """Keeps its times in a file: what is due every hour is done by who restarts often, too."""

    def tick(self, *args: Any, **kwargs: Any) -> float:
        """One step. What was done in what is now the future counts as done right now."""
        for entry in self.schedule.values():
            now = entry.default_now()
            if entry.last_run_at and entry.last_run_at > now:
                entry.last_run_at = now
                self._heap = None  # it is made of times that do not hold any more
        return float(super().tick(*args, **kwargs))

    def apply_async(self, entry: Any, *args: Any, **kwargs: Any) -> Any:
        """Send a task, unless nobody takes those that were sent before."""
        queue = entry.options.get("queue", self.app.conf.task_default_queue)
        return None if is_crowded(queue) else super().apply_async(entry, *args, **kwargs)
