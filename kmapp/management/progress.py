"""Progress of long commands on stderr, so that stdout stays data."""

import sys
import time
from datetime import timedelta
from typing import TextIO

EVERY_SECONDS = 0.5  # on a terminal, where the line is overwritten
EVERY_SECONDS_IN_LOGS = 10.0


class Progress:
    """One line with the number, the speed and the remaining time."""

    def __init__(self, what: str, total: int | None = None, out: TextIO = sys.stderr) -> None:
        self.what, self.total, self.out = what, total, out
        self.done = 0
        self.began = self.last_report = time.monotonic()

    def add(self, number: int = 1) -> None:
        self.done += number
        interval = EVERY_SECONDS if self.out.isatty() else EVERY_SECONDS_IN_LOGS
        if time.monotonic() - self.last_report >= interval:
            self._report()

    def end(self) -> None:
        self._report(last=True)

    def _report(self, *, last: bool = False) -> None:
        self.last_report = time.monotonic()
        terminal = self.out.isatty()
        self.out.write(("\r\x1b[K" if terminal else "") + self.line(last=last))
        self.out.write("\n" if last or not terminal else "")
        self.out.flush()

    def line(self, *, last: bool = False) -> str:
        seconds = max(time.monotonic() - self.began, 1e-6)
        speed = self.done / seconds
        words = [f"{self.what}: {self.done:,}"]
        if self.total:
            words.append(f"of {self.total:,}")
        words.append(f"in {seconds:.0f} s, {speed:,.0f} a second")
        if self.total and not last and speed:
            left = timedelta(seconds=round(max(self.total - self.done, 0) / speed))
            words.append(f"about {left} left")
        return " ".join(words)
