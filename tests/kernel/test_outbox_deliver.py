"""Deliveries: handlers, postponed jobs, leases and concurrent workers."""

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.db import OperationalError, connection
from django.db.models.functions import Now
from psycopg.errors import LockNotAvailable
from pytest_django import Settings
from structlog.testing import capture_logs

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.errors import ReadOnly
from kmapp.outbox import registry
from kmapp.outbox.deliver import deliver_due, paused_until, release
from kmapp.outbox.failed_deliveries import retry_deliveries
from kmapp.outbox.host_lock import HostLocks
from kmapp.outbox.models import Delivery
from kmapp.outbox.publish import NewJob, publish
from kmapp.outbox.registry import Job, RetryLater, register_handler
from tests import makers

TOPIC = "test.deliver"


@pytest.fixture(autouse=True)
def only_ours(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Remove the handlers of the product and all pauses of handlers."""
    monkeypatch.setattr(registry, "_subscriptions", {})
    paused_until.clear()
    yield
    paused_until.clear()


def publish_jobs(account: Account, count: int) -> None:
    with acting(account):
        new_jobs = [NewJob(job_key=f"{uuid4()}:1", payload={}) for _each in range(count)]
        publish(account.pk, TOPIC, new_jobs)


def states(account: Account) -> list[str]:
    with acting(account):
        return [str(row.state) for row in Delivery.objects.of(account)]


def lock_timeout() -> OperationalError:
    """Return the error of Django for a lock that another transaction held for too long."""
    error = OperationalError("canceling statement due to lock timeout")
    error.__cause__ = LockNotAvailable()
    return error


def test_wakes_another_worker_once_when_jobs_are_due(acme: Account) -> None:
    calls: list[str] = []

    @register_handler(TOPIC)
    def work(jobs: Sequence[Job]) -> None:
        assert calls == ["help"]

    deliver_due("default", wake_another=lambda: calls.append("help"))
    assert calls == []
    publish_jobs(acme, 3)
    assert deliver_due("default", wake_another=lambda: calls.append("help")) == 3
    assert calls == ["help"]


def test_postponed_handler_is_not_called_again(acme: Account) -> None:
    tried: list[int] = []

    @register_handler(TOPIC, batch=2)
    def absent(jobs: Sequence[Job]) -> None:
        tried.append(len(jobs))
        raise RetryLater("no_provider", seconds=60, for_all=True)

    publish_jobs(acme, 10)
    assert deliver_due("default") == 2
    assert deliver_due("default") == 0
    assert tried == [2]
    with acting(acme):
        rows = Delivery.objects.of(acme)
        assert rows.filter(reason="no_provider", attempts=0).count() == 2
        assert rows.filter(reason="", attempts=0).count() == 8
    paused_until.clear()
    assert deliver_due("default") == 2


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (RetryLater("not_yet", seconds=60), "not_yet"),
        (ReadOnly("Its ledger is older than its checkpoint.", retry_after=60), "read-only ledger"),
        (lock_timeout(), "lock"),
    ],
)
def test_postponed_job_does_not_block_others(acme: Account, error: Exception, reason: str) -> None:
    @register_handler(TOPIC)
    def waits(jobs: Sequence[Job]) -> None:
        raise error

    publish_jobs(acme, 3)
    assert deliver_due("default") == 3
    with acting(acme):
        assert Delivery.objects.of(acme).filter(reason=reason, attempts=0).count() == 3


def test_redelivered_task_releases_its_leases(acme: Account) -> None:
    done: list[UUID] = []
    task = uuid4()

    class Killed(BaseException):
        """Not an Exception, so that no handler of errors runs, as after kill -9."""

    @register_handler(TOPIC)
    def dies_once(jobs: Sequence[Job]) -> None:
        if not done:
            done.append(jobs[0].id)
            raise Killed
        done.append(jobs[0].id)

    publish_jobs(acme, 1)
    with pytest.raises(Killed):
        deliver_due("default", task=task)
    assert states(acme) == ["RUNNING"]
    assert deliver_due("default", task=uuid4()) == 0, "leased"
    assert release(uuid4()) == 0
    assert release(task) == 1
    assert deliver_due("default", task=task) == 1
    assert states(acme) == ["SUCCEEDED"]
    assert len(set(done)) == 1
    assert release(task) == 0


def test_finished_delivery_has_no_lease(acme: Account) -> None:
    @register_handler(TOPIC)
    def work(jobs: Sequence[Job]) -> None:
        pass

    publish_jobs(acme, 2)
    assert makers.settle() == 2
    with acting(acme):
        assert not Delivery.objects.of(acme).exclude(lease_token=None).exists()


def test_exclusive_handler_does_not_block_others(acme: Account) -> None:
    """While one process of a host holds the lock, another runs the other handlers."""
    done: list[str] = []

    @register_handler(TOPIC, one_per_host=True)
    def heavy(jobs: Sequence[Job]) -> None:
        done.extend("heavy" for _ in jobs)

    @register_handler(TOPIC)
    def light(jobs: Sequence[Job]) -> None:
        done.extend("light" for _ in jobs)

    publish_jobs(acme, 3)
    with HostLocks() as another:
        assert another.acquire(f"{heavy.__module__}.{heavy.__qualname__}")
        assert deliver_due("default") == 3
        assert done == ["light"] * 3
    assert deliver_due("default") == 3
    assert done == ["light"] * 3 + ["heavy"] * 3


def test_releasing_the_host_lock_wakes_another(
    acme: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    free: list[bool] = []
    elapsed: list[int] = []  # seconds of jobs
    monkeypatch.setattr("kmapp.outbox.deliver.monotonic", lambda: sum(elapsed))

    @register_handler(TOPIC, one_per_host=True)
    def heavy(jobs: Sequence[Job]) -> None:
        elapsed.append(100)

    def take_lock() -> None:
        with HostLocks() as another:
            free.append(another.acquire(f"{heavy.__module__}.{heavy.__qualname__}"))

    publish_jobs(acme, 2)
    assert deliver_due("default", seconds=100, wake_another=take_lock) == 1
    assert free == [False, True]
    assert deliver_due("default", seconds=1_000, wake_another=take_lock) == 1
    assert free == [False, True, False], "no work is left"


# --- Repeated, late and concurrent jobs -----------------------------------------------------------


@pytest.mark.promise(9)
def test_expired_lease_is_fenced(acme: Account) -> None:
    starts: list[int] = []

    @register_handler(TOPIC)
    def outlives_its_lease(jobs: Sequence[Job]) -> None:
        starts.append(jobs[0].attempt)
        if len(starts) == 1:
            with acting(acme):
                lapsed = Now() - timedelta(seconds=1)
                Delivery.objects.of(acme).update(lease_until=lapsed)
            assert deliver_due("default") == 1, "another worker runs it"
            raise RuntimeError("too late")

    publish_jobs(acme, 1)
    with capture_logs() as lines:
        assert deliver_due("default") == 1
    assert starts == [1, 2]
    assert states(acme) == ["SUCCEEDED"]
    with acting(acme):
        assert Delivery.objects.of(acme).get().last_error == ""
    assert [line["fenced"] for line in lines if line["event"] == "delivery_fenced"] == [1]


@pytest.mark.promise(10)
def test_repeated_publish_runs_each_job_once(acme: Account) -> None:
    done: Counter[str] = Counter()

    @register_handler(TOPIC, batch=7)
    def work(jobs: Sequence[Job]) -> None:
        done.update(job.job_key for job in jobs)

    new_jobs = [NewJob(job_key=f"{uuid4()}:1", payload={}) for _each in range(100)]
    task = uuid4()
    for _time in range(5):
        with acting(acme):
            publish(acme.pk, TOPIC, new_jobs)
        release(task)
        deliver_due("default", task=task)
    assert done == {each.job_key: 1 for each in new_jobs}


@pytest.mark.promise(12)
def test_failing_job_fails_without_affecting_others(acme: Account, settings: Settings) -> None:
    settings.OUTBOX_MAX_ATTEMPTS = 2
    done: list[UUID] = []
    bad: set[UUID] = set()

    @register_handler(TOPIC)
    def work(jobs: Sequence[Job]) -> None:
        if jobs[0].id in bad:
            raise RuntimeError("never")
        done.append(jobs[0].id)

    publish_jobs(acme, 200)
    with acting(acme):
        rows = Delivery.objects.of(acme)
        bad.add(rows.order_by("pk")[100].pk)
        for _attempt in range(2):
            rows.update(due_at=Now())
            deliver_due("default")
        assert Counter(states(acme)) == {"SUCCEEDED": 199, "FAILED": 1}
        assert rows.dead().get().attempts == 2
        assert deliver_due("default") == 0
        bad.clear()
        assert retry_deliveries(acme.pk) == 1
    assert deliver_due("default") == 1
    assert len(done) == len(set(done)) == 200


def test_error_is_stored_as_valid_text(acme: Account) -> None:
    """Errors of a provider may contain NUL and surrogates; the other job of the batch is done."""

    @register_handler(TOPIC, batch=2)
    def work(jobs: Sequence[Job]) -> dict[UUID, Exception]:
        return {jobs[0].id: ValueError("a\0b \ud83d")}

    publish_jobs(acme, 2)
    assert deliver_due("default") == 2
    assert sorted(states(acme)) == ["PENDING", "SUCCEEDED"]
    with acting(acme):
        assert Delivery.objects.of(acme).get(done_at=None).last_error == "ValueError: ab ?"


@pytest.mark.promise(14)
def test_concurrent_sweeps_run_each_job_once(committed: str, acme: Account) -> None:
    done: list[str] = []

    @register_handler(TOPIC, batch=3)
    def work(jobs: Sequence[Job]) -> None:
        done.extend(job.job_key for job in jobs)

    def sweep(_number: int) -> int:
        try:
            return deliver_due("default")
        finally:
            connection.close()

    publish_jobs(acme, 200)
    with ThreadPoolExecutor(4) as threads:
        assert sum(threads.map(sweep, range(8))) == 200
    assert len(done) == len(set(done)) == 200
