"""Workers and the broker are killed and stopped; every job still runs, and runs once."""

import os
import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from kmapp.accounts.models import Account
from kmapp.outbox.tasks import SLICE_SECONDS
from tests import makers
from tests.chaos.conftest import SeparateProduct
from tests.chaos.jobs import handlers
from tests.chaos.measure import WHOLE, amount, limit, long, seconds_until
from tests.chaos.product import Answer, Product
from tests.chaos.published_jobs import Jobs
from tests.promises.plugin import RecordFigure

pytestmark = pytest.mark.chaos

QUEUED = 500


def start_jobs(product: Product, account: Account, count: int, seconds: float) -> Jobs:
    """Enqueue slow jobs and wait until one runs."""
    product.ensure_running("valkey", "worker", "beat")
    jobs = product.publish_jobs(account.pk, handlers.SLOW, count, seconds=seconds)
    seconds_until(lambda: bool(jobs.starts()), 20)
    time.sleep(seconds / 3)
    return jobs


@pytest.mark.promise(7)
@pytest.mark.parametrize("time_of_many", range(amount(2, 1)))
def test_job_survives_a_killed_process(
    time_of_many: int, product: Product, acme: Account, record_figure: RecordFigure
) -> None:
    """Kill the child process that runs the job; it takes effect once, within 15 s."""
    jobs = start_jobs(product, acme, 1, seconds=3)
    os.kill(int(jobs.starts()[0][1]), signal.SIGKILL)
    seconds = seconds_until(lambda: jobs.effects() == [1], 15)
    time.sleep(5)  # a second run would have ended by now
    assert jobs.effects() == [1]
    assert len(jobs.starts()) == 2
    record_figure(f"once, {seconds:.1f} s after the kill")


@pytest.mark.promise(8)
def test_job_survives_a_killed_worker(
    product: Product, acme: Account, record_figure: RecordFigure
) -> None:
    """Kill the whole worker; the job takes effect once in the next one, within 60 s."""
    jobs = start_jobs(product, acme, 1, seconds=3)
    product.kill("worker")
    killed = time.monotonic()
    product.ensure_running("worker")
    seconds_until(lambda: jobs.effects() == [1], 60 - (time.monotonic() - killed))
    seconds = time.monotonic() - killed
    time.sleep(5)
    assert jobs.effects() == [1]
    assert len(jobs.starts()) == 2
    record_figure(f"once, {seconds:.1f} s after the kill")


@pytest.mark.promise(13)
def test_stopped_worker_loses_no_job(
    product: Product, acme: Account, record_figure: RecordFigure
) -> None:
    """Send SIGTERM during 20 jobs: the worker ends within 30 s, and each job takes effect once."""
    seconds = 1.0
    jobs = start_jobs(product, acme, 20, seconds)
    elapsed = product.stop("worker", most=limit(30))
    done = sum(jobs.effects())
    assert done == len(jobs.starts()), "started jobs are finished"
    assert done < 20, "it was stopped in between"
    product.ensure_running("worker")
    seconds_until(lambda: sum(jobs.effects()) == 20, 20 * seconds + 40)
    time.sleep(seconds + 2)
    assert jobs.effects() == [1] * 20
    record_figure(f"gone after {elapsed:.1f} s with {done} of 20 done, then all 20 once")


@pytest.mark.promise(11)
@long
def test_worker_without_messages_restarts(
    separate_product: SeparateProduct, record_figure: RecordFigure
) -> None:
    """A worker is made to take no messages while alive, as after a restart of the broker."""
    with separate_product() as (product, account):
        jobs = start_jobs(product, account, 1, seconds=1)
        seconds_until(product.is_idle, 60)  # a busy worker would be restarted only after minutes
        time.sleep(SLICE_SECONDS + 1)  # the task has found nothing more and ended
        worker = product.running["worker"]
        children = {start[1] for start in jobs.starts()}
        os.kill(worker.pid, handlers.STUCK)
        more = product.publish_jobs(account.pk, handlers.SLOW, 20, seconds=0)
        seconds = seconds_until(more.have_all_run, 120)
        assert more.effects() == [1] * 20
        assert worker.poll() is None, "it is the same process"
        assert children.isdisjoint(start[1] for start in more.starts())
    record_figure(f"an unresponsive worker restarted after {seconds:.0f} s")


@long
@pytest.mark.promise(24)
def test_a_worker_sees_one_account_at_a_time(product: Product, acme: Account) -> None:
    product.ensure_running("valkey", "worker", "beat")
    rival = makers.account(f"Rival of {acme.name}")
    batches = [
        product.publish_jobs(account.pk, handlers.LOOK, 10)
        for _turn in range(10)
        for account in (acme, rival)
    ]
    for jobs in batches:
        seconds_until(jobs.have_all_run, 60)
        assert jobs.effects() == [1] * 10
        for _key, account, *in_sight in jobs.starts():
            assert account == str(jobs.account)
            assert in_sight == [account, "outside"]


# --- The broker -----------------------------------------------------------------------------------


@pytest.mark.promise(11)
def test_flushed_broker_loses_no_job(
    product: Product, acme: Account, record_figure: RecordFigure
) -> None:
    """Kill the broker with 500 messages queued and restart it empty.

    All writes return 201, and all jobs are done within 120 s.
    """
    product.ensure_running("valkey", "provider", "web", "worker", "beat")
    stop, answers = Event(), list[Answer]()

    def write() -> None:
        number = 0
        while not stop.is_set():
            body = {"text": f"Note {number}.", "client_id": f"n-{number}", "user_id": "ann"}
            answers.append(product.post("memory/store", body))
            number += 1

    with ThreadPoolExecutor(1) as thread:
        writing = thread.submit(write)
        product.signal("worker", signal.SIGSTOP)  # so that all of them are still queued
        jobs = product.publish_jobs(acme.pk, handlers.SLOW, QUEUED, seconds=0)
        time.sleep(2)
        before = len(answers)
        product.kill("valkey")
        product.signal("worker", signal.SIGCONT)
        time.sleep(5)
        without = len(answers) - before
        shutil.rmtree(product.valkey.data)
        product.ensure_running("valkey")
        back = time.monotonic()
        time.sleep(3)
        stop.set()
        writing.result()
    seconds_until(lambda: sum(jobs.effects()) >= QUEUED, 120 - (time.monotonic() - back))
    seconds = time.monotonic() - back
    after = len(answers) - before - without
    record_figure(
        f"{before} + {without} + {after} writes a 201, {QUEUED} done {seconds:.1f} s after it"
    )
    assert {answer.status for answer in answers} == {201}
    assert without > (before / 3 if WHOLE else 0), "writing did not wait for the broker"
    assert jobs.effects() == [1] * QUEUED
