"""A job that cannot be done is given up; the others hardly notice; once mended, it is done."""

from datetime import timedelta
from itertools import chain

import pytest

from tests.chaos import handlers
from tests.chaos.conftest import Apart
from tests.chaos.measure import percentile, seconds_until
from tests.chaos.product import Jobs
from tests.promises.plugin import Measured

pytestmark = pytest.mark.chaos

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
@pytest.mark.parametrize("harm", [handlers.RAISES, handlers.KILLS])
def test_a_poisonous_job_harms_only_itself(apart: Apart, harm: str, measured: Measured) -> None:
    with apart(OUTBOX_MAX_ATTEMPTS=str(ATTEMPTS)) as (product, account):
        product.have("valkey", "worker", "beat")
        usual = product.owe(account.pk, handlers.POISON, OTHERS + 1, seconds=SECONDS, harm="")
        seconds_until(usual.all_happened, 60)

        first = product.owe(account.pk, handlers.POISON, 20, seconds=SECONDS, harm="")
        bad = product.owe(account.pk, handlers.POISON, 1, seconds=SECONDS, harm=harm)
        last = product.owe(account.pk, handlers.POISON, OTHERS - 20, seconds=SECONDS, harm="")
        seconds_until(lambda: all(map(Jobs.all_happened, (first, last))), 60)
        seconds_until(bad.all_settled, 60)
        assert sum(first.effects() + last.effects()) == OTHERS
        assert bad.effects() == [0]
        assert len(bad.starts()) == ATTEMPTS, "and no more"
        p95, before = waited(first, last), waited(usual)

        (product.home / handlers.MENDED).touch()
        product.command("outbox", "replay", "--yes")
        seconds_until(bad.all_happened, 30)
        assert bad.effects() == [1]
    measured(f"{harm}: given up after {ATTEMPTS}; others' p95 {p95:.1f} s, {before:.1f} s without")
    assert p95 <= 1.5 * before
