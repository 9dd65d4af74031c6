"""Growth, not speed: what a test may claim about time on a machine it does not know."""

from collections.abc import Callable
from time import process_time

SLACK = 3.0  # doubling the input may triple the time; quadratic work quadruples it
NOISE = 0.02  # seconds below which a measurement says nothing


def assert_linear(work: Callable[[int], object], size: int) -> None:
    """Twice the input takes about twice the time. A noisy measurement is taken again."""
    ratios = []
    for _ in range(4):
        once, twice = _seconds(work, size), _seconds(work, 2 * size)
        if twice <= max(NOISE, SLACK * once):
            return
        ratios.append(twice / once)
    raise AssertionError(f"Time grows faster than the input: twice the size took {ratios} times.")


def _seconds(work: Callable[[int], object], size: int) -> float:
    started = process_time()
    work(size)
    return process_time() - started
