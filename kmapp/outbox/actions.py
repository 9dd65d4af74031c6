"""Publishing events in a transaction and delivering them outside any."""

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models.functions import Now
from opentelemetry.trace import SpanKind, StatusCode
from psycopg.errors import LockNotAvailable

from kmapp.accounts.acting import acting
from kmapp.database.bulk_insert import Insert
from kmapp.database.ids import uuid7
from kmapp.database.raw_sql import fetch_all, prepared_cursor
from kmapp.errors import ReadOnly
from kmapp.ledger.canonical import encode_canonical
from kmapp.outbox.delivery_outcomes import store_outcomes
from kmapp.outbox.host_lock import HostLocks
from kmapp.outbox.lease_renewal import renew_leases
from kmapp.outbox.models import Delivery, OutboxEvent
from kmapp.outbox.registry import (
    Job,
    RetryLater,
    Subscription,
    get_subscription,
    list_subscribers,
    list_subscriptions,
)
from kmapp.runtime import tracing

log = structlog.get_logger()
LOCK_PAUSE = 5.0  # seconds before a job that did not get a lock runs again

# Wakes a worker after an event is committed. `kmapp.outbox.tasks` sets it; without it, the sweep
# finds the work.
wake: Callable[[set[str]], None] = lambda queues: None  # noqa: E731


@dataclass(frozen=True, slots=True)
class Task:
    job_key: str  # object:version
    payload: Mapping[str, Any]


# One statement: an existing job keeps its event, and only new events get deliveries.
_PUBLISH = """
new_events AS (
  INSERT INTO outbox_outboxevent
    (id, account_id, topic, job_key, payload, payload_sha256, traceparent)
  SELECT e.id, %s::uuid, e.topic, e.job_key, e.payload, e.sha256, %s::text
  FROM json_to_recordset(%s::json)
    AS e (id uuid, topic text, job_key text, payload jsonb, sha256 text)
  ON CONFLICT (account_id, topic, job_key) DO NOTHING RETURNING id, topic, job_key
), new_deliveries AS (
  INSERT INTO outbox_delivery
    (id, account_id, event_id, handler, queue, attempts, last_error, reason)
  SELECT d.id, %s::uuid, d.event, d.handler, d.queue, 0, '', ''
  FROM json_to_recordset(%s::json)
    AS d (id uuid, event uuid, handler text, queue text)
  JOIN new_events ON new_events.id = d.event
)
SELECT topic, job_key, id FROM new_events
"""


def publish(account_id: UUID, topic: str, tasks: Sequence[Task]) -> dict[str, UUID]:
    """Enqueue tasks for every subscriber of the topic. Return event ids by job key.

    Existing jobs are not enqueued again.
    """
    return publish_all(account_id, {topic: tasks})[topic]


def publish_all(
    account_id: UUID, topics: Mapping[str, Sequence[Task]], also: Sequence[Insert] = ()
) -> dict[str, dict[str, UUID]]:
    """Enqueue the tasks of several topics in one statement with other inserts; see `publish`."""
    events = [_encode_event(topic, task) for topic, tasks in topics.items() for task in tasks]
    deliveries = [
        {"id": str(uuid7()), "event": event["id"], "handler": each.name, "queue": each.queue}
        for event in events
        for each in list_subscribers(event["topic"])
    ]
    ids: dict[str, dict[str, UUID]] = {topic: {} for topic in topics}
    if not events and not also:
        return ids
    ctes = [f"also_{i} AS ({insert.sql})" for i, insert in enumerate(also)]
    values = [value for insert in also for value in insert.values]
    values += [account_id, tracing.traceparent(), json.dumps(events)]
    values += [account_id, json.dumps(deliveries)]
    with prepared_cursor() as cursor:
        cursor.execute(f"WITH {', '.join([*ctes, _PUBLISH])}", values)
        for topic, job_key, event_id in cursor.fetchall():
            ids[topic][job_key] = event_id
    if queues := {
        each.queue for topic, new in ids.items() if new for each in list_subscribers(topic)
    }:
        transaction.on_commit(lambda: wake(queues), robust=True)
    for topic, tasks in topics.items():
        if existing := {task.job_key for task in tasks} - ids[topic].keys():
            rows = OutboxEvent.objects.of(account_id).filter(topic=topic, job_key__in=existing)
            ids[topic] |= dict(rows.values_list("job_key", "id"))
    return ids


def _encode_event(topic: str, task: Task) -> dict[str, Any]:
    payload = encode_canonical(task.payload)
    return {
        "id": str(uuid7()),
        "topic": topic,
        "job_key": task.job_key,
        "payload": json.loads(payload),
        "sha256": hashlib.sha256(payload).hexdigest(),
    }


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


def replay(account_id: UUID, deliveries: Sequence[UUID] | None = None) -> int:
    """Retry failed deliveries: these, or all of the account. Return the number."""
    dead = Delivery.objects.of(account_id).dead()
    if deliveries is not None:
        dead = dead.filter(pk__in=deliveries)
    queues = set(dead.values_list("queue", flat=True))
    revived = dead.update(failed_at=None, attempts=0, due_at=Now(), reason="")
    if revived:
        transaction.on_commit(lambda: wake(queues), robust=True)
    return revived


# The texts of a payload include the ids of its objects.
_SILENCE = """
UPDATE outbox_delivery SET last_error = ''
 WHERE account_id = %s AND last_error <> '' AND event_id IN (
   SELECT e.id FROM outbox_outboxevent e, jsonb_path_query(e.payload, '$.**') v
    WHERE e.account_id = %s AND jsonb_typeof(v) = 'string' AND v #>> '{}' = ANY (%s))
"""


def clear_error_messages(account_id: UUID, objects: Iterable[UUID]) -> None:
    """Clear the error messages of deliveries about these objects. Inside `acting`."""
    with connection.cursor() as cursor:
        cursor.execute(_SILENCE, [account_id, account_id, [str(pk) for pk in objects]])
