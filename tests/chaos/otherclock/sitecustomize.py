"""For processes under faketime: found by Python as it starts, from PYTHONPATH.

Python sleeps until a moment of the monotonic clock, which libfaketime (0.9.10) takes for one of the
clock that it fakes, and refuses. To wait for so long instead comes to the same.
"""

import select
import time
from typing import Any


def _sleep(seconds: Any) -> None:
    select.select([], [], [], seconds)


time.sleep = _sleep
