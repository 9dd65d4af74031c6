"""Loaded by Python from PYTHONPATH in processes under faketime.

Python sleeps until a time of the monotonic clock, which libfaketime (0.9.10) mistakes for the faked
clock and refuses. Waiting for a duration has the same effect.
"""

import select
import time
from typing import Any


def _sleep(seconds: Any) -> None:
    select.select([], [], [], seconds)


time.sleep = _sleep
