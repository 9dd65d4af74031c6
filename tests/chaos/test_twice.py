"""What comes twice, comes late or is done by two: it happens once."""

import json
import signal
import time

import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from memory.models import MemoryEntry
from tests.chaos.conftest import Apart
from tests.chaos.jobs import handlers
from tests.chaos.measure import long, seconds_until
from tests.chaos.product import Product
from tests.memory.chat_model import fact
from tests.promises.plugin import Measured

pytestmark = [pytest.mark.chaos, long]

FACT = "Ann keeps the keys of dock seven."
BRIEF, LENGTHY = 95, 5  # jobs
VISIBLE = 5  # seconds until the broker takes who works on a message for dead
BATCHES = 20


@pytest.mark.promise(9)
def test_resumed_worker_with_an_expired_lease_changes_nothing(
    product: Product, acme: Account, measured: Measured
) -> None:
    """A worker stops in the middle of a model's answer, past its lease; another one does it."""
    product.have("valkey", "provider", "worker", "beat", "web")
    reply = json.dumps({"facts": [fact(FACT)]})
    product.provider(mode="slow", delay=5, reply=reply)
    said = [{"role": "user", "content": "I have the keys of dock seven, as ever."}]
    handed = product.post("memory/add", {"messages": said, "user_id": "ann"})
    assert handed.status == 202, handed

    def state() -> str:
        return str(product.ask("GET", f"events/{handed.body['event_id']}").body["state"])

    seconds_until(lambda: state() == "RUNNING", 20)
    time.sleep(1)
    log = product.log("worker")
    read = log.stat().st_size  # what others were told before is none of this
    product.signal("worker", signal.SIGSTOP)
    stopped = time.monotonic()
    try:
        product.provider(reply=reply)
        product.have("second_worker")
        seconds_until(lambda: state() == "SUCCEEDED", 90)
        taken = time.monotonic() - stopped
    finally:
        product.signal("worker", signal.SIGCONT)
        product.kill("second_worker")
    before = product.ask("GET", "memory/verify").body["commits"]
    seconds_until(lambda: b'"fenced": 1' in log.read_bytes()[read:], 30)
    time.sleep(2)
    assert product.ask("GET", "memory/verify").body["commits"] == before
    with acting(acme):
        assert MemoryEntry.objects.of(acme).filter(content=FACT).count() == 1
    measured(f"once, by another {taken:.0f} s after the stop; the late one was fenced")


@pytest.mark.promise(10)
def test_redelivered_message_has_no_effect(apart: Apart, measured: Measured) -> None:
    """Five copies of each; and the broker gives out again what takes longer than it waits."""
    with apart(CHAOS_VISIBILITY=str(VISIBLE)) as (product, account):
        product.have("valkey", "worker", "beat")
        lengthy = product.owe(account.pk, handlers.ONCE, LENGTHY, times=5, seconds=2.5 * VISIBLE)
        brief = product.owe(account.pk, handlers.ONCE, BRIEF, times=5, seconds=0.05)
        seconds_until(brief.all_settled, 180)
        seconds_until(lengthy.all_settled, 180)
        time.sleep(VISIBLE)
        assert brief.effects() == [1] * BRIEF
        assert lengthy.effects() == [1] * LENGTHY
        starts = len(lengthy.starts())
        assert starts > LENGTHY, "the broker gave none of them out again"
    measured(
        f"{BRIEF + LENGTHY} of {BRIEF + LENGTHY} once; {LENGTHY} long ones began {starts} times"
    )


@pytest.mark.promise(14)
def test_two_schedulers_run_no_job_twice(apart: Apart, measured: Measured) -> None:
    """Nobody wakes a worker but the sweeps, of which there are twice as many as there should be."""
    with apart() as (product, account):
        product.have("valkey", "worker", "second_worker", "beat", "second_beat")
        batches = []
        for _each in range(BATCHES):
            batches.append(product.owe(account.pk, handlers.SLOW, 10, times=0, seconds=0.1))
            time.sleep(60 / BATCHES)
        for jobs in batches:
            seconds_until(jobs.all_happened, 60)
        time.sleep(2)
        for name in ("beat", "second_beat"):
            assert product.log(name).read_text().count("sweep the outbox") > 2, name
        for jobs in batches:
            assert jobs.effects() == [1] * 10
        who = {start[1] for jobs in batches for start in jobs.starts()}
        assert len(who) > 2, "both workers took part"
    measured(f"{BATCHES * 10} jobs once, by {len(who)} processes")
