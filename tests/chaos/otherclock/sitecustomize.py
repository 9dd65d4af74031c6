"""Loaded by Python from PYTHONPATH in processes under faketime.

`time.sleep` waits until a time of the monotonic clock, which libfaketime (0.9.10) mistakes for a
time of the faked clock and rejects. `select` waits for a duration instead.
"""

import select
import time
from typing import Any


def _sleep(seconds: Any) -> None:
    select.select([], [], [], seconds)


time.sleep = _sleep
