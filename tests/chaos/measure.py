"""Counting and timing on a machine that does other things too."""

import math
import os
import time
from collections.abc import Callable, Sequence

import pytest

SHORT = os.environ.get("CHAOS_SHORT") == "1"


def amount(full: int, short: int) -> int:
    """How many: the whole figure, or fewer when there are only minutes (`make chaos SHORT=1`)."""
    return short if SHORT else full


# In the short form of chaos an ordinary test speaks for these.
ELSEWHERE = "the short form leaves it to other tests"
long = pytest.mark.skipif(SHORT, reason=ELSEWHERE)


def seconds_until(condition: Callable[[], bool], most: float) -> float:
    """How long it takes until this is so; fails after `most`."""
    began = time.monotonic()
    while not condition():
        taken = time.monotonic() - began
        assert taken <= most, f"not so after {taken:.1f} s"
        time.sleep(0.1)
    return time.monotonic() - began


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of all does not exceed."""
    return sorted(values)[math.ceil(share * len(values)) - 1]
