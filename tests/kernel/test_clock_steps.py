"""Clock steps: deletions wait after a step forward, and nothing gets stuck after a step back."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest
from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now
from django.test import Client

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.api.idempotency import delete_expired_responses
from kmapp.api.models import IdempotentRequest
from kmapp.api.throttles import WINDOW_MS, count_request
from kmapp.database.ids import uuid7
from kmapp.database.steady_clock import (
    BOOT_ID,
    FORWARD_JUMP_DELAY,
    MAX_CLOCK_DRIFT,
    advance_clock,
    steady_time,
)
from kmapp.notifications.actions import save_settings
from kmapp.notifications.models import NotificationSettings
from kmapp.notifications.tasks import refresh_notifications
from kmapp.outbox import registry, tasks
from kmapp.outbox.models import Delivery, OutboxEvent
from kmapp.outbox.publish import NewJob, publish
from kmapp.outbox.registry import register_handler
from kmapp.providers.breaker import Breaker
from kmapp.providers.errors import CircuitOpen, ProviderTimeout
from kmapp.runtime.cache_backend import ValkeyCache
from kmapp.web.models import DailyStatistics
from kmapp.web.sessions import SEEN_KEY, SINCE_KEY
from kmapp.web.statistics.daily import record_days
from memory.actions.follow_up_jobs import RELATE, TOPICS, enqueue_topic_growth
from memory.actions.retention import apply_retention
from memory.actions.review_leases import acquire_lease, check_not_leased_by_other
from memory.models import MemoryEntry, ReviewLease
from tests import makers
from tests.web.staff import staff

pytestmark = [pytest.mark.django_db, pytest.mark.promise(47)]
HOUR, DAY = timedelta(hours=1), timedelta(days=1)


def run_sql(query: str, *values: Any) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(query, values)
        return cursor.fetchone() if cursor.description else None


def step_clock(by: timedelta) -> None:
    """Simulate a step of the clock by moving the stored times the other way."""
    run_sql("UPDATE kmapp_clock SET seen_at = seen_at - %s, steady_at = steady_at - %s", by, by)


def advance_monotonic_clock(by: timedelta) -> None:
    """Simulate that the host ran for this time, by moving its stored monotonic time back."""
    run_sql("UPDATE kmapp_clock SET ticks = ticks - %s", by.total_seconds())


@pytest.fixture
def lag() -> Callable[[], timedelta]:
    """Return a function that returns how far the steady time is behind."""
    advance_clock()

    def measure() -> timedelta:
        difference: timedelta = run_sql("SELECT now() - steady_time()")[0]
        return difference

    return measure


@pytest.mark.parametrize("step", [HOUR, DAY])
def test_step_forward_is_followed_after_a_day_of_running(
    lag: Callable[[], timedelta], step: timedelta
) -> None:
    step_clock(step)
    assert advance_clock() is False
    assert lag() > step - HOUR / 60
    for _ in range(23):  # the clock goes on, and so does the steady time
        advance_monotonic_clock(HOUR)
        step_clock(HOUR)
        advance_clock()
        assert step - HOUR / 60 < lag() < step + HOUR / 60
    advance_monotonic_clock(HOUR)
    step_clock(HOUR)
    advance_clock()
    assert lag() < HOUR / 60


@pytest.mark.parametrize("step", [HOUR, DAY])
def test_step_back_is_followed_at_once(lag: Callable[[], timedelta], step: timedelta) -> None:
    step_clock(-step)
    assert steady_time() <= datetime.now(UTC), "before any process noticed"
    assert advance_clock() is True
    assert lag() < HOUR / 60
    assert advance_clock() is False


def test_transient_step_leaves_no_trace(lag: Callable[[], timedelta]) -> None:
    step_clock(DAY)
    advance_clock()
    step_clock(-DAY)
    assert advance_clock() is True
    assert lag() < HOUR / 60
    assert run_sql("SELECT doubt FROM kmapp_clock") == (timedelta(0),)


def test_time_of_a_host_that_was_off_is_not_a_step(lag: Callable[[], timedelta]) -> None:
    advance_monotonic_clock(DAY)
    step_clock(DAY)
    advance_clock()
    assert lag() < HOUR / 60


def test_new_host_does_not_move_the_steady_time(lag: Callable[[], timedelta]) -> None:
    run_sql("UPDATE kmapp_clock SET host = gen_random_uuid()")
    step_clock(DAY)
    advance_clock()
    assert lag() > DAY - HOUR / 60
    assert run_sql("SELECT count(*) FROM kmapp_clock WHERE host = %s", BOOT_ID) == (1,)


def test_step_of_months_is_followed_when_two_hosts_run(lag: Callable[[], timedelta]) -> None:
    """Neither host deletes the row of the other, because that is as far behind as its own."""
    hosts = [BOOT_ID, uuid7()]

    def advance_hosts() -> None:
        for host in hosts:
            values = [host, time.monotonic(), MAX_CLOCK_DRIFT, FORWARD_JUMP_DELAY]
            run_sql("SELECT advance_clock(%s, %s, %s, %s)", *values)

    advance_hosts()
    step_clock(40 * DAY)
    advance_hosts()
    assert lag() > 39 * DAY
    for _ in range(25):
        advance_monotonic_clock(HOUR)
        step_clock(HOUR)
        advance_hosts()
    assert lag() < HOUR / 60
    run_sql("UPDATE kmapp_clock SET seen_at = seen_at - %s WHERE host = %s", 31 * DAY, hosts[1])
    advance_clock()
    assert run_sql("SELECT count(*), min(host::text) FROM kmapp_clock") == (1, str(BOOT_ID))


def test_retention_waits_after_a_step_forward(acme: Account, lag: Callable[[], timedelta]) -> None:
    [entry] = makers.write(acme, "A note of today.")
    makers.set_policy(acme, {"forget_after": {entry.kind: 1}})
    past = datetime.now(UTC) - DAY - HOUR
    makers.update(MemoryEntry, acme, {"pk": entry.pk}, created_at=past, updated_at=past)
    step_clock(2 * HOUR)  # the memory is 23 hours old
    advance_clock()
    assert apply_retention(acme.pk) == 0
    step_clock(-2 * HOUR)
    advance_clock()
    assert apply_retention(acme.pk) == 1


def test_jobs_and_leases_from_before_a_step_back_are_not_stuck(
    acme: Account, lag: Callable[[], timedelta], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Test a due job, a job that was leased by a process that died, and a failed job."""
    monkeypatch.setattr(registry, "_subscriptions", {})
    register_handler("test.clock", name="test.clock")(lambda _jobs: None)
    with acting(acme):
        publish(acme.pk, "test.clock", [NewJob(job_key=str(n), payload={}) for n in range(3)])
        due, leased, failed = Delivery.objects.of(acme).order_by("event__job_key")
        rows = Delivery.objects.of(acme)
        rows.filter(pk=due.pk).update(due_at=Now() + DAY)
        rows.filter(pk=leased.pk).update(lease_token=uuid7(), lease_until=Now() + DAY, attempts=1)
        rows.filter(pk=failed.pk).update(due_at=Now() + DAY, attempts=4, last_error="timeout")
    tasks.sweep()
    assert list_waiting_times(acme)[0] > DAY - HOUR, "the clock did not go back"
    step_clock(-DAY)
    tasks.sweep()
    in_queue, until_free, until_retry = list_waiting_times(acme)
    assert in_queue < timedelta(seconds=2)
    assert until_free <= settings.OUTBOX_LEASE
    assert until_retry < timedelta(seconds=17)


def list_waiting_times(account: Account) -> list[timedelta]:
    """Return how long each delivery waits until it can be claimed."""
    with acting(account):
        rows = Delivery.objects.of(account).order_by("event__job_key")
        return [
            (row.lease_until or row.due_at) - row.now  # type: ignore[attr-defined]  # annotated
            for row in rows.annotate(now=Now())
        ]


def test_review_lease_from_before_a_step_back_is_free(acme: Account) -> None:
    [entry] = makers.write(acme, "A proposal.")
    with acting(acme):
        lease = acquire_lease(acme.pk, entry.pk, "user:ada")
        assert lease
        assert acquire_lease(acme.pk, entry.pk, "user:bob") is None
        ReviewLease.objects.of(acme).update(until=F("until") + DAY)
        check_not_leased_by_other(acme.pk, entry.pk, "user:bob")
        assert acquire_lease(acme.pk, entry.pk, "user:bob")


def test_open_circuit_is_tried_again_after_a_step_back() -> None:
    circuit = Breaker("example:2", fail_max=1, reset_seconds=30, successes=1)
    with pytest.raises(ProviderTimeout), circuit.guard():
        raise ProviderTimeout("No answer.")
    memory = circuit._memory  # noqa: SLF001 - the time at which it opened
    memory.opened_at = datetime.now(UTC) + DAY
    with pytest.raises(CircuitOpen) as refused, circuit.guard():
        pass
    assert refused.value.retry_after <= 30
    assert memory.opened_at
    assert memory.opened_at <= datetime.now(UTC)


def test_rate_limit_from_before_a_step_back_lasts_a_minute() -> None:
    budget = count_request("recall", "clock-test")
    assert budget
    run = cast(ValkeyCache, cache).run
    assert run(
        "return redis.call('PEXPIRE', KEYS[1], ARGV[1])", "throttle:recall:clock-test", 10**8
    )
    again = count_request("recall", "clock-test")
    assert again
    assert (again.used, again.seconds) == (2, WINDOW_MS / 1000)


def test_session_from_before_a_step_back_starts_now(acme: Account, client: Client) -> None:
    client.force_login(staff(acme, "boss"))
    session = client.session
    session[SINCE_KEY] = session[SEEN_KEY] = time.time() + 10 * 365 * 86400
    session.save()
    assert client.get("/").status_code in (200, 302)
    for name in (SINCE_KEY, SEEN_KEY):
        assert client.session[name] <= time.time()


def test_response_of_an_idempotent_request_outlasts_a_step_forward(
    acme: Account, lag: Callable[[], timedelta]
) -> None:
    agent = makers.agent(acme)

    def write() -> Any:
        body = {"text": "A note.", "user_id": "ann"}
        return agent.post("memory/store", body, 201, **{"Idempotency-Key": "one"})

    first = write()
    makers.update(IdempotentRequest, acme, {}, expires_at=datetime.now(UTC) - HOUR)
    step_clock(2 * HOUR)
    advance_clock()
    assert write() == first
    assert delete_expired_responses() == 0
    step_clock(-2 * HOUR)
    advance_clock()
    assert delete_expired_responses() == 1


def test_digest_sent_before_a_step_back_does_not_hide_later_events(acme: Account) -> None:
    """The last digest is marked as sent tomorrow; the next one includes today's events."""
    ada = makers.member(acme, "ada", role="admin")
    with acting(acme):
        save_settings(acme.pk, ada, {"digest_at": datetime.now(UTC) + DAY})
    refresh_notifications()
    marked = makers.get(NotificationSettings, acme).digest_at
    assert marked
    assert marked <= datetime.now(UTC)


def test_figures_of_a_day_in_the_future_are_removed(acme: Account) -> None:
    record_days(acme.pk)
    tomorrow = datetime.now(UTC).date() + DAY
    makers.update(DailyStatistics, acme, {"day": tomorrow - DAY}, day=tomorrow)
    record_days(acme.pk)
    assert max(row.day for row in makers.rows(DailyStatistics, acme)) == tomorrow - DAY


def test_topics_grow_although_an_event_is_in_the_future(acme: Account) -> None:
    with acting(acme):
        for number in range(2):
            publish(acme.pk, RELATE, [NewJob(job_key=str(number), payload={"entries": []})])
        first, second = OutboxEvent.objects.of(acme).filter(topic=RELATE).order_by("pk")
        OutboxEvent.objects.of(acme).filter(pk=second.pk).update(created_at=Now() + DAY)
        enqueue_topic_growth(acme.pk)
        [growth] = OutboxEvent.objects.of(acme).filter(topic=TOPICS)
    assert growth.job_key == str(first.pk)
