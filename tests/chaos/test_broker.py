"""The broker dies with its queues; writing goes on, and pending jobs run once it is back."""

import shutil
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest

from kmapp.accounts.models import Account
from tests.chaos.jobs import handlers
from tests.chaos.measure import WHOLE, seconds_until
from tests.chaos.product import Answer, Product
from tests.promises.plugin import Measured

pytestmark = pytest.mark.chaos

QUEUED = 500


@pytest.mark.promise(11)
def test_flushed_broker_loses_no_job(product: Product, acme: Account, measured: Measured) -> None:
    """Kill -9 with 500 queued, back empty; writes all 2xx, all done in 120 s."""
    product.have("valkey", "provider", "web", "worker", "beat")
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
        jobs = product.owe(acme.pk, handlers.SLOW, QUEUED, seconds=0)
        time.sleep(2)
        before = len(answers)
        product.kill("valkey")
        product.signal("worker", signal.SIGCONT)
        time.sleep(5)
        without = len(answers) - before
        shutil.rmtree(product.valkey.data)
        product.have("valkey")
        back = time.monotonic()
        time.sleep(3)
        stop.set()
        writing.result()
    seconds_until(lambda: sum(jobs.effects()) >= QUEUED, 120 - (time.monotonic() - back))
    taken = time.monotonic() - back
    after = len(answers) - before - without
    measured(f"{before} + {without} + {after} writes a 201, {QUEUED} done {taken:.1f} s after it")
    assert {answer.status for answer in answers} == {201}
    assert without > (before / 3 if WHOLE else 0), "writing did not wait for the broker"
    assert jobs.effects() == [1] * QUEUED
