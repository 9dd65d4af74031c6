"""A file of the scheduler that was opened on a full disk does not damage the next one."""

import errno
import os
import shelve
from pathlib import Path
from typing import Any

import pytest

from kmapp.celery import app
from kmapp.runtime import beat_scheduler


class HalfOpen(shelve.Shelf[Any]):
    """A file that can be opened, but not written."""

    is_closed = False

    def __setitem__(self, key: str, value: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def close(self) -> None:
        self.is_closed = True
        super().close()


def test_half_open_file_is_closed_before_the_next_one_is_opened(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Closing it may write its index, so the index of the next file would be lost."""
    half_open: list[HalfOpen] = []
    closed_before: list[bool] = []
    open_file = shelve.open

    def open_later(filename: str, *, writeback: bool) -> shelve.Shelf[Any]:
        if isinstance(scheduler._store, beat_scheduler._MemoryStore):  # noqa: SLF001
            closed_before.append(half_open[-1].is_closed)
            return open_file(filename, writeback=writeback)
        half_open.append(HalfOpen({}, writeback=writeback))
        return half_open[-1]

    monkeypatch.setattr(shelve, "open", open_later)
    file = str(tmp_path / "schedule")
    scheduler = beat_scheduler.Scheduler(app, lazy=True, schedule_filename=file)
    scheduler.setup_schedule()
    assert closed_before == [True]
    scheduler.close()
