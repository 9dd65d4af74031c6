"""Jobs that arrive twice, finish late, run in two workers or always fail."""

import json
import signal
import time
from datetime import timedelta
from itertools import chain

import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from memory.models import MemoryEntry
from tests.chaos.conftest import SeparateProduct
from tests.chaos.jobs import handlers
from tests.chaos.measure import long, percentile, seconds_until
from tests.chaos.product import Product
from tests.chaos.published_jobs import Jobs
from tests.memory.chat_model import fact
from tests.promises.plugin import RecordFigure

pytestmark = [pytest.mark.chaos, long]

FACT = "Ann keeps the keys of dock seven."
BRIEF, LENGTHY = 95, 5  # jobs
VISIBLE = 5  # seconds without an acknowledgement until the broker redelivers a message
BATCHES = 20
OTHERS, SECONDS = 199, 0.05  # number of jobs queued with one that fails; seconds of each
ATTEMPTS = 3


@pytest.mark.promise(9)
def test_resumed_worker_with_an_expired_lease_changes_nothing(
    product: Product, acme: Account, record_figure: RecordFigure
) -> None:
    """A worker is suspended during a model call until its lease expires; another does the job."""
    product.ensure_running("valkey", "provider", "worker", "beat", "web")
    reply = json.dumps({"facts": [fact(FACT)]})
    product.provider(mode="slow", delay=5, reply=reply)
    body = [{"role": "user", "content": "I have the keys of dock seven, as ever."}]
    accepted = product.post("memory/add", {"messages": body, "user_id": "ann"})
    assert accepted.status == 202, accepted

    def state() -> str:
        return str(product.request("GET", f"events/{accepted.body['event_id']}").body["state"])

    seconds_until(lambda: state() == "RUNNING", 20)
    time.sleep(1)
    log = product.log("worker")
    read = log.stat().st_size  # earlier lines are about other tests
    product.signal("worker", signal.SIGSTOP)
    stopped = time.monotonic()
    try:
        product.provider(reply=reply)
        product.ensure_running("second_worker")
        seconds_until(lambda: state() == "SUCCEEDED", 90)
        seconds = time.monotonic() - stopped
    finally:
        product.signal("worker", signal.SIGCONT)
        product.kill("second_worker")
    before = product.request("GET", "memory/verify").body["commits"]
    seconds_until(lambda: b'"fenced": 1' in log.read_bytes()[read:], 30)
    time.sleep(2)
    assert product.request("GET", "memory/verify").body["commits"] == before
    with acting(acme):
        assert MemoryEntry.objects.of(acme).filter(content=FACT).count() == 1
    record_figure(f"once, by another {seconds:.0f} s after the stop; the late one was fenced")


@pytest.mark.promise(10)
def test_redelivered_message_has_no_effect(
    separate_product: SeparateProduct, record_figure: RecordFigure
) -> None:
    """Each message is sent five times; the broker redelivers those of long jobs."""
    with separate_product(CHAOS_VISIBILITY=str(VISIBLE)) as (product, account):
        product.ensure_running("valkey", "worker", "beat")
        lengthy = product.publish_jobs(
            account.pk, handlers.ONCE, LENGTHY, times=5, seconds=2.5 * VISIBLE
        )
        brief = product.publish_jobs(account.pk, handlers.ONCE, BRIEF, times=5, seconds=0.05)
        seconds_until(brief.is_finished, 180)
        seconds_until(lengthy.is_finished, 180)
        time.sleep(VISIBLE)
        assert brief.effects() == [1] * BRIEF
        assert lengthy.effects() == [1] * LENGTHY
        starts = len(lengthy.starts())
        assert starts > LENGTHY, "the broker gave none of them out again"
    record_figure(
        f"{BRIEF + LENGTHY} of {BRIEF + LENGTHY} once; {LENGTHY} long ones began {starts} times"
    )


@pytest.mark.promise(14)
def test_two_schedulers_run_no_job_twice(
    separate_product: SeparateProduct, record_figure: RecordFigure
) -> None:
    """Only sweeps wake the workers, and two schedulers send twice as many as one."""
    with separate_product() as (product, account):
        product.ensure_running("valkey", "worker", "second_worker", "beat", "second_beat")
        batches = []
        for _each in range(BATCHES):
            batches.append(
                product.publish_jobs(account.pk, handlers.SLOW, 10, times=0, seconds=0.1)
            )
            time.sleep(60 / BATCHES)
        for jobs in batches:
            seconds_until(jobs.have_all_run, 60)
        time.sleep(2)
        for name in ("beat", "second_beat"):
            assert product.log(name).read_text().count("sweep the outbox") > 2, name
        for jobs in batches:
            assert jobs.effects() == [1] * 10
        who = {start[1] for jobs in batches for start in jobs.starts()}
        assert len(who) > 2, "both workers took part"
    record_figure(f"{BATCHES * 10} jobs once, by {len(who)} processes")


def p95_wait(*batches: Jobs) -> float:
    """Return the 95th percentile of the seconds from the publication of a job to its end."""
    done = chain.from_iterable(jobs.deliveries() for jobs in batches)
    times = [each.done_at - each.event.created_at for each in done if each.done_at]
    assert len(times) == sum(len(jobs.events) for jobs in batches)
    return percentile([time / timedelta(seconds=1) for time in times], 0.95)


@pytest.mark.alone
@pytest.mark.promise(12)
def test_crashing_job_affects_only_itself(
    separate_product: SeparateProduct, record_figure: RecordFigure
) -> None:
    with separate_product(OUTBOX_MAX_ATTEMPTS=str(ATTEMPTS)) as (product, account):
        product.ensure_running("valkey", "worker", "beat")

        def enqueue(count: int, harm: str = "") -> Jobs:
            return product.publish_jobs(
                account.pk, handlers.POISON, count, seconds=SECONDS, harm=harm
            )

        healthy = enqueue(OTHERS + 1)
        seconds_until(healthy.have_all_run, 60)
        usual = p95_wait(healthy)
        poison = {}
        for harm in (handlers.RAISES, handlers.KILLS):
            first, bad, last = enqueue(20), enqueue(1, harm), enqueue(OTHERS - 20)
            seconds_until(first.have_all_run, 60)
            seconds_until(last.have_all_run, 60)
            seconds_until(bad.is_finished, 60)
            assert sum(first.effects() + last.effects()) == OTHERS
            assert bad.effects() == [0]
            assert bad.deliveries()[0].failed_at
            assert len(bad.starts()) == ATTEMPTS
            poison[harm] = bad, p95_wait(first, last)

        (product.home / handlers.MENDED).touch()
        product.command("outbox", "replay", "--yes")
        for bad, _ in poison.values():
            seconds_until(bad.have_all_run, 30)
            assert bad.effects() == [1]
    waits = ", ".join(f"{p95:.1f} s with one that {harm}" for harm, (_, p95) in poison.items())
    record_figure(
        f"each failed permanently after {ATTEMPTS} attempts;"
        f" others' p95 {waits}, {usual:.1f} s without"
    )
    assert max(p95 for _, p95 in poison.values()) <= 1.5 * usual
