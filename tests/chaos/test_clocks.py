"""Clocks of hosts differ by hours; no job runs twice or is delayed, and the ledger keeps order."""

import time
from collections.abc import Iterator
from itertools import pairwise

import pytest
from django.conf import settings

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.ledger.models import Commit
from kmapp.ledger.verify import verify_account
from tests.chaos import faketime
from tests.chaos.jobs import handlers
from tests.chaos.measure import amount, limit, long, seconds_until
from tests.chaos.product import Product
from tests.promises.plugin import RecordFigure

pytestmark = [pytest.mark.chaos, pytest.mark.promise(40), faketime.is_required]

JOBS = amount(200, 60)
LONG = settings.OUTBOX_LEASE.total_seconds() + 8


def with_the_clock(off: str) -> dict[str, str]:
    """Return the environment of a process whose time of day is off by this."""
    return faketime.PRELOADED | faketime.PYTHON | {"FAKETIME": off}


@pytest.fixture
def hosts(product: Product) -> Iterator[tuple[Product, Product]]:
    """Return two more hosts, one an hour ahead and the other an hour behind."""
    product.ensure_running("valkey")
    product.kill(*{"worker", "beat"} & product.running.keys())
    both = tuple(
        Product(
            product.home,
            product.database,
            provider_port=product.provider_port,
            extra_environment=with_the_clock(off),
        )
        for off in ("+1h", "-1h")
    )
    yield both[0], both[1]
    for host in both:
        host.kill(*host.running)


def test_different_clocks_run_no_job_twice(
    hosts: tuple[Product, Product], acme: Account, record_figure: RecordFigure
) -> None:
    """Workers are an hour ahead and behind; jobs run once, because the database's clock counts."""
    ahead, behind = hosts
    ahead.ensure_running("worker", "beat")
    behind.ensure_running("worker")
    long = ahead.publish_jobs(acme.pk, handlers.SLOW, 1, seconds=amount(int(LONG), 5))
    many = ahead.publish_jobs(acme.pk, handlers.SLOW, JOBS, seconds=0.1)
    seconds_until(lambda: many.have_all_run() and long.have_all_run(), 120)
    time.sleep(5)  # a second run would be through by now
    assert many.effects() == [1] * JOBS
    assert long.effects() == [1]
    log_lines = ahead.log("worker").read_text().splitlines()
    assert len(many.starts()) == JOBS, [line for line in log_lines if "handler_failed" in line]
    assert len(long.starts()) == 1
    with acting(acme):
        commits = list(Commit.objects.of(acme).order_by("seq"))
    back = [(one, then) for one, then in pairwise(commits) if then.created_at < one.created_at]
    assert back
    assert all(then.parent_hash == one.commit_hash for one, then in pairwise(commits))
    assert verify_account(acme.pk).ok
    record_figure(f"{JOBS + 1} jobs once each; {len(back)} commits older than the one before them")


@long
def test_clock_set_back_delays_no_job(
    hosts: tuple[Product, Product], acme: Account, record_figure: RecordFigure
) -> None:
    """The scheduler's clock goes back two hours; the next sweep comes as soon as before."""
    ahead, behind = hosts
    behind.ensure_running("worker")
    for host in (ahead, behind):
        host.ensure_running("beat")
        jobs = host.publish_jobs(acme.pk, handlers.SLOW, 1, times=0, seconds=0)
        seconds = seconds_until(jobs.have_all_run, 60)
        record_figure(f"found by a sweep {seconds:.1f} s after it was due")
        host.stop("beat", most=limit(30))
