"""Base of the commands that measure latency."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter

from django.core.management.base import BaseCommand
from django.db import transaction

from kmapp.accounts.acting import acting
from kmapp.accounts.actions import create_account
from kmapp.accounts.models import Account


class BenchmarkCommand(BaseCommand):
    def measure(self, name: str, work: Callable[[], object], number: int) -> None:
        """Run `work` this many times, and write the median and 95th percentile of its duration."""
        self.write_timing(name, [1000 * measure_seconds(work) for _ in range(number)])

    def write_timing(self, name: str, times: Sequence[float]) -> None:
        p95 = sorted(times)[int(0.95 * len(times))]
        self.stdout.write(f"{name}: median {statistics.median(times):.1f} ms, p95 {p95:.1f} ms")


def measure_seconds(work: Callable[[], object]) -> float:
    started = perf_counter()
    work()
    return perf_counter() - started


@contextmanager
def temporary_account() -> Iterator[Account]:
    """Yield an account in a transaction that is rolled back."""
    with transaction.atomic():
        account = create_account(name="benchmark")
        with acting(account):
            yield account
        transaction.set_rollback(True)
