"""A job that cannot be done is given up; the others hardly notice; once mended, it is done."""

from datetime import timedelta
from itertools import chain

import pytest

from tests.chaos.conftest import Apart
from tests.chaos.jobs import handlers
from tests.chaos.measure import long, percentile, seconds_until
from tests.chaos.product import Jobs
from tests.promises.plugin import Measured

pytestmark = [pytest.mark.chaos, long]

OTHERS = 199
SECONDS = 0.05  # that each of them takes
ATTEMPTS = 3


def waited(*batches: Jobs) -> float:
    """Seconds from when they were owed until they were done, p95."""
    done = chain.from_iterable(jobs.deliveries() for jobs in batches)
    times = [each.done_at - each.event.created_at for each in done if each.done_at]
    assert len(times) == sum(len(jobs.events) for jobs in batches)
    return percentile([time / timedelta(seconds=1) for time in times], 0.95)


@pytest.mark.promise(12)
def test_crashing_job_affects_only_itself(apart: Apart, measured: Measured) -> None:
    with apart(OUTBOX_MAX_ATTEMPTS=str(ATTEMPTS)) as (product, account):
        product.have("valkey", "worker", "beat")

        def owe(count: int, harm: str = "") -> Jobs:
            return product.owe(account.pk, handlers.POISON, count, seconds=SECONDS, harm=harm)

        healthy = owe(OTHERS + 1)
        seconds_until(healthy.all_happened, 60)
        usual = waited(healthy)
        poison = {}
        for harm in (handlers.RAISES, handlers.KILLS):
            first, bad, last = owe(20), owe(1, harm), owe(OTHERS - 20)
            seconds_until(first.all_happened, 60)
            seconds_until(last.all_happened, 60)
            seconds_until(bad.all_settled, 60)
            assert sum(first.effects() + last.effects()) == OTHERS
            assert bad.effects() == [0]
            assert bad.deliveries()[0].failed_at
            assert len(bad.starts()) == ATTEMPTS, "and no more"
            poison[harm] = bad, waited(first, last)

        (product.home / handlers.MENDED).touch()
        product.command("outbox", "replay", "--yes")
        for bad, _ in poison.values():
            seconds_until(bad.all_happened, 30)
            assert bad.effects() == [1]
    said = ", ".join(f"{p95:.1f} s with one that {harm}" for harm, (_, p95) in poison.items())
    measured(
        f"each failed permanently after {ATTEMPTS} attempts;"
        f" others' p95 {said}, {usual:.1f} s without"
    )
    assert max(p95 for _, p95 in poison.values()) <= 1.5 * usual
