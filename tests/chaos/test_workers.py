"""Workers are killed and stopped; every job still runs, and runs once."""

import os
import signal
import time

import pytest

from kmapp.accounts.models import Account
from kmapp.outbox.tasks import SLICE
from tests import makers
from tests.chaos.conftest import Apart
from tests.chaos.jobs import handlers
from tests.chaos.measure import amount, limit, long, seconds_until
from tests.chaos.product import Jobs, Product
from tests.promises.plugin import Measured

pytestmark = pytest.mark.chaos


def begun(product: Product, account: Account, count: int, seconds: float) -> Jobs:
    """Slow jobs, one of which is in the middle of its work."""
    product.have("valkey", "worker", "beat")
    jobs = product.owe(account.pk, handlers.SLOW, count, seconds=seconds)
    seconds_until(lambda: bool(jobs.starts()), 20)
    time.sleep(seconds / 3)
    return jobs


@pytest.mark.promise(7)
@pytest.mark.parametrize("time_of_many", range(amount(2, 1)))
def test_job_survives_a_killed_process(
    time_of_many: int, product: Product, acme: Account, measured: Measured
) -> None:
    """Kill -9 of the child that does it; done once, within 15 s."""
    jobs = begun(product, acme, 1, seconds=3)
    os.kill(int(jobs.starts()[0][1]), signal.SIGKILL)
    taken = seconds_until(lambda: jobs.effects() == [1], 15)
    time.sleep(5)  # a second run would be through by now
    assert jobs.effects() == [1]
    assert len(jobs.starts()) == 2
    measured(f"once, {taken:.1f} s after the kill")


@pytest.mark.promise(8)
def test_job_survives_a_killed_worker(product: Product, acme: Account, measured: Measured) -> None:
    """Kill -9 of the whole worker; done once by the next, within 60 s."""
    jobs = begun(product, acme, 1, seconds=3)
    product.kill("worker")
    killed = time.monotonic()
    product.have("worker")
    seconds_until(lambda: jobs.effects() == [1], 60 - (time.monotonic() - killed))
    taken = time.monotonic() - killed
    time.sleep(5)
    assert jobs.effects() == [1]
    assert len(jobs.starts()) == 2
    measured(f"once, {taken:.1f} s after the kill")


@pytest.mark.promise(13)
def test_stopped_worker_loses_no_job(product: Product, acme: Account, measured: Measured) -> None:
    """SIGTERM during 20 jobs; gone within 30 s, and all 20 happen once."""
    seconds = 1.0
    jobs = begun(product, acme, 20, seconds)
    taken = product.stop("worker", most=limit(30))
    done = sum(jobs.effects())
    assert done == len(jobs.starts()), "what it began, it finished"
    assert done < 20, "it was told in the middle"
    product.have("worker")
    seconds_until(lambda: sum(jobs.effects()) == 20, 20 * seconds + 40)
    time.sleep(seconds + 2)
    assert jobs.effects() == [1] * 20
    measured(f"gone after {taken:.1f} s with {done} of 20 done, then all 20 once")


@pytest.mark.promise(11)
@long
def test_worker_without_messages_restarts(apart: Apart, measured: Measured) -> None:
    """As Celery's consumer can be left after its broker came back: alive, and deaf."""
    with apart() as (product, account):
        jobs = begun(product, account, 1, seconds=1)
        seconds_until(product.is_idle, 60)  # one that is busy is given minutes
        time.sleep(SLICE + 1)  # the task that did it has looked for more, and ended
        worker = product.running["worker"]
        children = {start[1] for start in jobs.starts()}
        os.kill(worker.pid, handlers.DEAF)
        more = product.owe(account.pk, handlers.SLOW, 20, seconds=0)
        taken = seconds_until(more.all_happened, 120)
        assert more.effects() == [1] * 20
        assert worker.poll() is None, "it is the same process"
        assert children.isdisjoint(start[1] for start in more.starts())
    measured(f"a deaf worker heard again after {taken:.0f} s")


@long
@pytest.mark.promise(24)
def test_a_worker_sees_one_account_at_a_time(product: Product, acme: Account) -> None:
    """With a real worker: two accounts' jobs take turns on its connections."""
    product.have("valkey", "worker", "beat")
    rival = makers.account(f"Rival of {acme.name}")
    batches = [
        product.owe(account.pk, handlers.LOOK, 10)
        for _turn in range(10)
        for account in (acme, rival)
    ]
    for jobs in batches:
        seconds_until(jobs.all_happened, 60)
        assert jobs.effects() == [1] * 10
        for _key, account, *in_sight in jobs.starts():
            assert account == str(jobs.account)
            assert in_sight == [account, "outside"]
