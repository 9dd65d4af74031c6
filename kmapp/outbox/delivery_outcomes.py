"""Storing the outcomes of deliveries whose lease is still held."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from uuid import UUID

import structlog
from django.conf import settings
from django.db.models import F
from django.db.models.functions import Now
from prometheus_client import Counter

from kmapp.database.raw_sql import fetch_all
from kmapp.outbox.models import Delivery
from kmapp.outbox.registry import (
    Job,
    PermanentFailure,
    RetryLater,
    Subscription,
    compute_retry_delay,
    report_failure,
)

log = structlog.get_logger()
MAX_ERROR_LENGTH = 1_000  # characters
DELIVERIES = Counter("kmapp_deliveries", "Processed deliveries by their outcome.", ["outcome"])

_COMPLETE = """
UPDATE outbox_delivery
   SET done_at = statement_timestamp(), last_error = '', reason = '',
       lease_token = NULL, lease_owner = NULL, lease_until = NULL
 WHERE account_id = %s::uuid AND id = ANY (%s::uuid[]) AND lease_token = %s::uuid
   AND done_at IS NULL
RETURNING id
"""


def store_outcomes(
    subscribed: Subscription, jobs: Sequence[Job], token: UUID, errors: Mapping[UUID, Exception]
) -> None:
    """Store the outcomes of jobs, except those whose lease lapsed and which another worker took.

    Those without an error are completed in one statement. Inside `acting`.
    """
    _complete([job for job in jobs if job.id not in errors], token)
    for job in jobs:
        if job.id in errors:
            _store_error(subscribed, job, token, errors[job.id])


def _complete(jobs: Sequence[Job], token: UUID) -> None:
    if not jobs:
        return
    ids = [job.id for job in jobs]
    rows = fetch_all(_COMPLETE, [jobs[0].account_id, ids, token])
    completed = {pk for (pk,) in rows}
    DELIVERIES.labels("done").inc(len(jobs))
    for pk in ids:
        if pk not in completed:
            _log_fenced(pk)


def _store_error(subscribed: Subscription, job: Job, token: UUID, error: Exception) -> None:
    delivery = Delivery.objects.of(job.account_id).filter(
        pk=job.id, lease_token=token, done_at=None
    )
    if isinstance(error, RetryLater):
        due_at = Now() + timedelta(seconds=error.seconds)
        outcome = "postponed"
        values = {"due_at": due_at, "attempts": F("attempts") - 1, "reason": error.reason}
    else:
        max_attempts = 0 if isinstance(error, PermanentFailure) else settings.OUTBOX_MAX_ATTEMPTS
        delay = compute_retry_delay(job.attempt, max_attempts=max_attempts)
        outcome = "failed" if delay is None else "retried"
        values = {"failed_at": Now()} if delay is None else {"due_at": Now() + delay}
        values |= {"last_error": _describe_error(error), "reason": ""}
    changed = delivery.update(**values, lease_token=None, lease_owner=None, lease_until=None)
    DELIVERIES.labels(outcome).inc()
    if not changed:
        _log_fenced(job.id)
    elif outcome == "failed":
        report_failure(job, subscribed.name)
        if subscribed.on_permanent_failure:
            subscribed.on_permanent_failure(job)


def _describe_error(error: Exception) -> str:
    """Return an error as text that PostgreSQL can store: without NUL and lone surrogates."""
    text = f"{type(error).__name__}: {error}".replace("\0", "")
    return text.encode(errors="replace").decode()[:MAX_ERROR_LENGTH]


def _log_fenced(delivery: UUID) -> None:
    log.warning("delivery_fenced", delivery=str(delivery), fenced=1)
