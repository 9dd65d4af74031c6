"""The time by which old data is deleted: it does not follow a jump of the clock at once.

The clock of a host can be wrong by an hour or a day until somebody corrects it. What an error of
the clock deletes is lost, so deletions by age use `SteadyTime` instead of `Now`. It is the
database's time, as long as that agrees with the time that the hosts measured since they started.
After a jump forward it follows when the hosts have run for `FORWARD_JUMP_DELAY`, after a jump back
at once.
"""

import time
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from django.db.models import DateTimeField, Func

from kmapp.database.raw_sql import fetch_all

MAX_CLOCK_DRIFT = timedelta(minutes=1)
FORWARD_JUMP_DELAY = timedelta(days=1)
BOOT_ID_PATH = Path("/proc/sys/kernel/random/boot_id")  # new at each boot, like the monotonic clock


def _read_boot_id() -> UUID:
    """Return the id of the monotonic clock, which all processes of a Linux host share."""
    return UUID(BOOT_ID_PATH.read_text().strip()) if BOOT_ID_PATH.exists() else uuid4()


BOOT_ID = _read_boot_id()


class SteadyTime(Func):
    """The time for deletions; at most the time of the database."""

    function = "steady_time"
    arity = 0
    output_field: Any = DateTimeField()


def advance_clock(*, forward_delay: timedelta = FORWARD_JUMP_DELAY) -> bool:
    """Advance the steady time. Return whether the clock went back since the last call."""
    values = [BOOT_ID, time.monotonic(), MAX_CLOCK_DRIFT, forward_delay]
    [(went_back,)] = fetch_all("SELECT advance_clock(%s, %s, %s, %s)", values)
    return bool(went_back)


def steady_time() -> datetime:
    moment: datetime
    [(moment,)] = fetch_all("SELECT steady_time()")
    return moment
