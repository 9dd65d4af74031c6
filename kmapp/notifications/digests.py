"""Digests: which are due, and their e-mails as outbox jobs."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID
from zoneinfo import ZoneInfo

from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.notifications.actions import mark_digest
from kmapp.notifications.close_notifications import refresh_open_notifications
from kmapp.notifications.kinds import Email
from kmapp.notifications.models import Notification, NotificationSettings
from kmapp.notifications.recipients import Recipient, list_recipients
from kmapp.outbox.publish import NewJob, publish

SEND = "notifications.email"


def refresh_account(account_id: UUID) -> int:
    """Close what is resolved, and enqueue the digests that are due; return their number."""
    with acting(account_id):
        return enqueue_digests(account_id, refresh_open_notifications(account_id))


def enqueue_digests(account_id: UUID, rows: Sequence[Notification]) -> int:
    """Enqueue one digest for each person whose time has come and for whom something is new."""
    now = timezone.now()
    recipients = list_recipients(account_id)
    due = {each: since for each in recipients if (since := _find_due_since(each, now))}
    new_jobs = [
        NewJob(
            # One digest for a person and a period, however often this runs.
            job_key=":".join(
                (str(each.user.pk), _find_last_digest(each, now).isoformat(), since.isoformat())
            ),
            payload={"user": str(each.user.pk), "since": since.isoformat()},
        )
        for each, since in due.items()
        if select_new(each, rows, since)
    ]
    # If the clock went back after a digest, the digest's time is in the future. It is set to now,
    # so that the next digest has what happens from now on.
    early = [each.user for each in recipients if (sent := each.settings.digest_at) and sent > now]
    mark_digest(account_id, [*(each.user for each in due), *early], now)
    publish(account_id, SEND, new_jobs)
    return len(new_jobs)


def select_new(
    recipient: Recipient, rows: Sequence[Notification], since: datetime
) -> list[Notification]:
    """Return what happened since then of the kinds in the person's digest."""
    kinds = {kind.name for kind in recipient.kinds(Email.DIGEST)}
    return [row for row in rows if row.kind in kinds and row.last_at > since]


def _find_due_since(recipient: Recipient, now: datetime) -> datetime | None:
    """Return the time since which events are new, if a digest is due."""
    since = recipient.settings.digest_at or recipient.membership.created_at
    return since if since < _find_last_digest(recipient, now) else None


def _find_last_digest(recipient: Recipient, now: datetime) -> datetime:
    chosen = recipient.settings
    weekly = chosen.digest == NotificationSettings.Digest.WEEKLY
    return find_last_due(now, recipient.zone, chosen.hour, weekly=weekly)


def find_last_due(now: datetime, zone: ZoneInfo, hour: int, *, weekly: bool) -> datetime:
    """Return the latest time up to `now` at which a digest was due, each day or each Monday."""
    local = now.astimezone(zone)
    due = local.replace(hour=hour, minute=0, second=0, microsecond=0)
    if weekly:
        due -= timedelta(days=due.weekday())
    # In local time: a day may have 23 or 25 hours.
    return due - timedelta(days=7 if weekly else 1) if due > local else due
