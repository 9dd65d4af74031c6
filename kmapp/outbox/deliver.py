"""Delivery of due events to their handlers, outside any transaction."""

from collections.abc import Callable, Mapping
from time import monotonic
from uuid import UUID

import structlog
from django.conf import settings
from opentelemetry.trace import SpanKind, StatusCode
from psycopg.errors import LockNotAvailable

from kmapp.accounts.acting import acting
from kmapp.database.ids import uuid7
from kmapp.database.raw_sql import fetch_all
from kmapp.errors import ReadOnly
from kmapp.outbox.delivery_outcomes import store_outcomes
from kmapp.outbox.host_lock import HostLocks
from kmapp.outbox.lease_renewal import renew_leases
from kmapp.outbox.models import Delivery
from kmapp.outbox.registry import (
    Job,
    RetryLater,
    Subscription,
    get_subscription,
    list_subscriptions,
)
from kmapp.runtime import tracing

log = structlog.get_logger()
LOCK_PAUSE = 5.0  # seconds before a job that did not get a lock runs again


def deliver_due(
    queue: str,
    *,
    task: UUID | None = None,
    seconds: float = 60,
    wake_another: Callable[[], object] = lambda: None,
) -> int:
    """Deliver what is due on a queue until nothing is left or the time is up; return the number.

    `task` is the Celery task, so that its redelivery can release its leases. `wake_another` wakes
    another worker when there is work, and again when the time is up, because the other worker may
    have come while this one held a host lock.
    """
    until, delivered, left = monotonic() + seconds, 0, True
    with HostLocks() as locks:
        while left and (handlers := _runnable_handlers(queue, locks)) and monotonic() < until:
            token = uuid7()
            claimed = _claim(handlers, token, task or token)
            left = bool(claimed)
            if claimed:
                if not delivered:
                    wake_another()
                delivered += len(claimed)
                _deliver(claimed, token)
    if left and locks.held and delivered:
        wake_another()
    return delivered


# Handlers that wait for something external, and until when this process does not run them.
paused_until: dict[str, float] = {}


def _runnable_handlers(queue: str, locks: HostLocks) -> dict[str, int]:
    now = monotonic()
    return {
        each.name: each.batch
        for each in list_subscriptions(queue)
        if paused_until.get(each.name, now) <= now
        and (not each.one_per_host or locks.acquire(each.name))
    }


def release(task: UUID) -> int:
    """Release the leases of a task that died, so that its redelivery need not wait for them."""
    [(released,)] = fetch_all("SELECT release_deliveries(%s)", [task])
    return int(released)


def _claim(handlers: Mapping[str, int], token: UUID, task: UUID) -> list[tuple[UUID, UUID, str]]:
    """Lease due deliveries of one account and one handler: (delivery, account, handler)."""
    lease = settings.OUTBOX_LEASE.total_seconds()
    return fetch_all(
        "SELECT delivery_id, account_id, handler "
        "FROM claim_deliveries(%s, %s, %s, %s, make_interval(secs => %s))",
        [list(handlers), list(handlers.values()), token, task, lease],
    )


def _deliver(claimed: list[tuple[UUID, UUID, str]], token: UUID) -> None:
    account_id, handler = claimed[0][1], claimed[0][2]
    subscribed = get_subscription(handler)
    assert subscribed is not None  # noqa: S101 - claimed by name from the registry
    with acting(account_id):
        jobs = _jobs(account_id, [row[0] for row in claimed])
    max_attempts = settings.OUTBOX_MAX_ATTEMPTS
    parents = [job.traceparent for job in jobs]
    with (
        renew_leases(account_id, token),
        tracing.span(handler, SpanKind.CONSUMER, parents=parents) as span,
    ):
        outcomes = _run(subscribed, [job for job in jobs if job.attempt <= max_attempts])
        failed = [error for error in outcomes.values() if not isinstance(error, RetryLater)]
        if span and failed:
            span.set_status(StatusCode.ERROR, type(failed[0]).__name__)
    died = RuntimeError("Its worker died each time.")
    outcomes |= {job.id: died for job in jobs if job.attempt > max_attempts}
    with acting(account_id):
        store_outcomes(subscribed, jobs, token, outcomes)


def _jobs(account_id: UUID, ids: list[UUID]) -> list[Job]:
    rows = Delivery.objects.of(account_id).filter(pk__in=ids).select_related("event")
    return [
        Job(
            id=row.pk,
            event_id=row.event_id,
            account_id=account_id,
            topic=row.event.topic,
            job_key=row.event.job_key,
            payload=row.event.payload,
            attempt=row.attempts,
            traceparent=row.event.traceparent,
        )
        for row in rows.order_by("event_id")
    ]


def _run(subscribed: Subscription, jobs: list[Job]) -> dict[UUID, Exception]:
    """Run a handler and return errors by job. An exception is the error of all of its jobs."""
    try:
        return dict((subscribed.run(jobs) if jobs else None) or {})
    except RetryLater as error:
        if error.for_all:
            paused_until[subscribed.name] = monotonic() + error.seconds
            log.warning("handler_rests", handler=subscribed.name, reason=error.reason)
        return {job.id: error for job in jobs}
    except ReadOnly as error:
        waiting = RetryLater("read-only ledger", seconds=error.retry_after)
        return {job.id: waiting for job in jobs}
    except Exception as error:  # noqa: BLE001 - a handler's failure belongs in the delivery
        if isinstance(error.__cause__, LockNotAvailable):  # another transaction holds the lock
            waiting = RetryLater("lock", seconds=LOCK_PAUSE)
            return {job.id: waiting for job in jobs}
        kind = type(error).__name__  # the message may quote a memory; only the delivery has it
        log.warning("handler_failed", handler=subscribed.name, jobs=len(jobs), error=kind)
        return {job.id: error for job in jobs}
