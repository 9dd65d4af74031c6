"""Ratios of processor time. They hold on every machine; a noisy measurement is repeated."""

from collections.abc import Callable
from time import process_time

SLACK = 3.0  # doubling the input may triple the time; quadratic work quadruples it
NOISE = 0.02  # seconds below which a measurement says nothing


def assert_linear(work: Callable[[int], object], size: int) -> None:
    """Assert that twice the input takes about twice the time."""
    assert_ratio(lambda: work(size), lambda: work(2 * size), SLACK)


def assert_ratio(one: Callable[[], object], other: Callable[[], object], most: float) -> None:
    """Assert that `other` takes at most `most` times as long as `one`."""
    ratios = []
    for _ in range(4):
        seconds = _seconds(other)
        if seconds <= NOISE:
            return
        base = _seconds(one)
        if seconds <= most * base:
            return
        ratios.append(seconds / base)
    raise AssertionError(f"It took {ratios} times as long, more than {most}.")


def _seconds(work: Callable[[], object]) -> float:
    started = process_time()
    work()
    return process_time() - started
