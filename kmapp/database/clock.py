"""Time that decides about deletions for good: it does not follow a jump of the clock at once.

The clock of a host can be wrong by an hour or a day until somebody corrects it. What an hour or a
day of error would delete is lost, so deletions by age use `SteadyTime` instead of `Now`. It is the
database's time, as long as that agrees with the time that the hosts measured since they started. A
jump forward is followed when the hosts have run for `PATIENCE` since, and a jump back at once.
"""

import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from django.db import connection
from django.db.models import DateTimeField, Func

TOLERANCE = timedelta(minutes=1)
PATIENCE = timedelta(days=1)
BOOT_ID = Path("/proc/sys/kernel/random/boot_id")  # as old as the monotonic clock


def _read_boot_id() -> UUID:
    """Return what identifies the monotonic clock: all processes of a Linux host share it."""
    return UUID(BOOT_ID.read_text().strip()) if BOOT_ID.exists() else uuid4()


HOST = _read_boot_id()


class SteadyTime(Func):
    """The time for deletions; at most the time of the database."""

    function = "steady_time"
    arity = 0
    output_field: Any = DateTimeField()


def advance_clock(*, patience: timedelta = PATIENCE) -> bool:
    """Move the steady time on. Return whether the clock went back since the last call."""
    values: list[Any] = [HOST, time.monotonic(), TOLERANCE, patience]
    with connection.cursor() as cursor:
        cursor.execute("SELECT advance_clock(%s, %s, %s, %s)", values)
        return bool(cursor.fetchone()[0])


def steady_time() -> datetime:
    """Return the steady time."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT steady_time()")
        moment: datetime = cursor.fetchone()[0]
        return moment
