"""Amounts and time limits of chaos tests.

The required figures are checked by the full `make chaos`, which has the machine for itself. The
short form and `make test` check behaviour, with limits that hold on a busy machine.
"""

import math
import os
import time
from collections.abc import Callable, Sequence

import pytest

FORM = os.environ.get("CHAOS_SHORT")  # `make chaos` sets it: "1" in the short form, else empty
SHORT = FORM == "1"
WHOLE = FORM == ""
LENIENT = 10


def amount(full: int, short: int) -> int:
    return short if SHORT else full


def limit(figure: float) -> float:
    """Return the required figure, or a generous one where other processes share the machine."""
    return figure if WHOLE else LENIENT * figure


# Marks tests that the short form skips, because ordinary tests cover them.
SKIPPED_IN_SHORT_FORM = "the short form leaves it to other tests"
long = pytest.mark.skipif(SHORT, reason=SKIPPED_IN_SHORT_FORM)


def seconds_until(condition: Callable[[], bool], most: float) -> float:
    """Wait for a condition and return the seconds; fail after `most`, see `limit`."""
    began = time.monotonic()
    while not condition():
        seconds = time.monotonic() - began
        assert seconds <= limit(most), f"not so after {seconds:.1f} s"
        time.sleep(0.1)
    return time.monotonic() - began


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that this share of all values does not exceed."""
    return sorted(values)[math.ceil(share * len(values)) - 1]
