"""The supervisor's files in the data folder: lock, pid file and logs. No Django."""

import fcntl
import json
import os
import shutil
import signal
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from kmapp.runtime.processes import CannotStart, Identity, Program, started


@contextmanager
def lock(data_dir: Path) -> Iterator[None]:
    """Lock the data folder; the kernel releases the lock when the process ends."""
    with (data_dir / "up.lock").open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise CannotStart(
                f"kmapp already runs on {data_dir} ({file.read()})."
                " Stop it there with Ctrl-C, or set KMAPP_DATA_DIR to another folder."
            ) from None
        file.truncate(0)
        since = f"{datetime.now():%Y-%m-%d %H:%M}"  # noqa: DTZ005 - as this machine's clock shows
        file.write(f"process {os.getpid()}, since {since}")
        file.flush()
        yield


class PidFile:
    """The running processes with their start times, because pids are reused."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, running: Iterable[tuple[Program, int]]) -> None:
        children = [
            {
                "name": program.name,
                "pid": pid,
                "started": started(pid),
                "stop_signal": program.stop_signal,
                "grace": program.grace,
            }
            for program, pid in running
        ]
        us = {"pid": os.getpid(), "started": started(os.getpid())}
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps({"supervisor": us, "children": children}, indent=1))
        new.replace(self.path)

    def end_leftovers(self, report: Callable[[str], None]) -> None:
        """End the processes of a supervisor that was killed, last started first."""
        if not self.path.exists():
            return
        for entry in reversed(json.loads(self.path.read_text())["children"]):
            left = Identity(entry["pid"], entry["started"])
            if left.alive():
                report(f"  ending {entry['name']} of an earlier run (process {left.pid})")
                left.end(signal.Signals(entry["stop_signal"]), entry["grace"])
        self.remove()

    def remove(self) -> None:
        self.path.unlink(missing_ok=True)


def rotate(log: Path, *, above: int) -> None:
    """Copy a large log and empty it, because its writer continues to append to the same file."""
    if log.exists() and log.stat().st_size > above:
        shutil.copyfile(log, log.with_name(log.name + ".1"))
        os.truncate(log, 0)


def tail(log: Path, lines: int = 15) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
