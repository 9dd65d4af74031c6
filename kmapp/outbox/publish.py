"""Publishing of events, in the transaction of the change that causes them."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction

from kmapp.database.bulk_insert import Insert
from kmapp.database.ids import uuid7
from kmapp.database.psycopg_cursors import prepared_cursor
from kmapp.ledger.canonical import encode_canonical
from kmapp.outbox.models import OutboxEvent
from kmapp.outbox.registry import list_subscribers
from kmapp.runtime import tracing

# Wakes a worker after an event is committed. `kmapp.outbox.tasks` sets it; without it, the sweep
# finds the work.
wake: Callable[[set[str]], None] = lambda queues: None  # noqa: E731


def wake_after_commit(queues: set[str]) -> None:
    transaction.on_commit(lambda: wake(queues), robust=True)


@dataclass(frozen=True, slots=True)
class NewJob:
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


def publish(account_id: UUID, topic: str, jobs: Sequence[NewJob]) -> dict[str, UUID]:
    """Enqueue jobs for every subscriber of the topic. Return event ids by job key.

    Existing jobs are not enqueued again.
    """
    return publish_all(account_id, {topic: jobs})[topic]


def publish_all(
    account_id: UUID, topics: Mapping[str, Sequence[NewJob]], also: Sequence[Insert] = ()
) -> dict[str, dict[str, UUID]]:
    """Enqueue the jobs of several topics in one statement with other inserts; see `publish`."""
    events = [_encode_event(topic, job) for topic, jobs in topics.items() for job in jobs]
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
        wake_after_commit(queues)
    for topic, jobs in topics.items():
        if existing := {job.job_key for job in jobs} - ids[topic].keys():
            rows = OutboxEvent.objects.of(account_id).filter(topic=topic, job_key__in=existing)
            ids[topic] |= dict(rows.values_list("job_key", "id"))
    return ids


def _encode_event(topic: str, job: NewJob) -> dict[str, Any]:
    payload = encode_canonical(job.payload)
    return {
        "id": str(uuid7()),
        "topic": topic,
        "job_key": job.job_key,
        "payload": json.loads(payload),
        "sha256": hashlib.sha256(payload).hexdigest(),
    }
