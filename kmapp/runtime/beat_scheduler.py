"""Celery's scheduler, adapted to clock changes, full disks and absent workers."""

import shelve
from contextlib import suppress
from typing import Any, Self

import structlog
from celery.beat import PersistentScheduler
from django.conf import settings

from kmapp.outbox.broker import is_crowded
from kmapp.outbox.heartbeats import record_heartbeat

log = structlog.get_logger()


class _MemoryStore(shelve.Shelf[Any]):
    """Times that are in no file yet."""

    @classmethod
    def open(cls, *_args: Any, **_kwargs: Any) -> Self:
        """Return an empty store, as `shelve.open` does for a new file."""
        return cls({}, writeback=True)


class Scheduler(PersistentScheduler):
    """A scheduler with its times in a file, so that hourly tasks run despite frequent restarts."""

    _store: shelve.Shelf[Any]
    schedule_filename: str

    def setup_schedule(self) -> None:
        """Open the file. While the disk is full or read-only, `sync` tries again."""
        try:
            self._create_folder()
            super().setup_schedule()
        except PermissionError:  # until a person changes it
            raise
        except OSError as error:
            log.error("schedule_not_opened", error=type(error).__name__)
        else:
            return
        # Outside the block of the error, which refers to the half-open file: closing may write it
        # once more, which must not damage the next file of this name.
        if self._store is not None:
            with suppress(OSError):
                self._store.close()
        self.persistence = _MemoryStore
        super().setup_schedule()

    def _create_folder(self) -> None:
        """Create the data folder, because a scheduler may need no other file there."""
        settings.DATA_DIR.mkdir(parents=True, exist_ok=True)

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
            if isinstance(self._store, _MemoryStore):
                self._move_to_file()
            super().sync()
        except OSError as error:
            # A failed `sync` of a shelf turns this off, and later ones would store nothing.
            self._store.writeback = True  # type: ignore[attr-defined]  # not in the stubs
            log.warning("schedule_not_stored", error=type(error).__name__)

    def _move_to_file(self) -> None:
        self._create_folder()
        self._remove_db()  # type: ignore[attr-defined]  # what an attempt on a full disk left
        store = shelve.open(self.schedule_filename, writeback=True)  # noqa: S301, SIM115 - our own
        try:
            store.update(self._store)
            store.sync()
        except OSError:
            with suppress(OSError):
                store.close()
            raise
        self._store = store

    def apply_async(self, entry: Any, *args: Any, **kwargs: Any) -> Any:
        """Send a task, unless enough messages wait already, as without a worker."""
        queue = entry.options.get("queue", self.app.conf.task_default_queue)
        if is_crowded(queue):
            record_heartbeat("scheduler")  # otherwise, the message of the sweep does it
            return None
        return super().apply_async(entry, *args, **kwargs)
