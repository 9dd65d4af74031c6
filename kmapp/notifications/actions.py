"""Recording notifications, and what people read and choose. Call all of it inside `acting`."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone

from kmapp.accounts.models import User
from kmapp.database.ids import uuid7
from kmapp.database.raw_sql import fetch_all
from kmapp.notifications.kinds import EventKind, find_kind
from kmapp.notifications.models import NEVER, Notification, NotificationRead, NotificationSettings
from kmapp.outbox.publish import NewJob, publish

RAISED = "notifications.raised"

# If the same notification is open, its count and time are updated. Otherwise a new one is inserted.
_RECORD = """
INSERT INTO notifications_notification AS n
  (id, account_id, kind, subject, count, first_at, last_at)
VALUES (%s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (account_id, kind, subject) WHERE closed_at IS NULL
DO UPDATE SET count = n.count + excluded.count, last_at = greatest(n.last_at, excluded.last_at)
RETURNING id
"""


def notify(account_id: UUID, kind: EventKind, subject: str = "", *, times: int = 1) -> None:
    """Record that something happened. A new notification is sent to people and webhooks once."""
    new, now = uuid7(), timezone.now()
    [(pk,)] = fetch_all(_RECORD, [new, account_id, kind.name, subject, times, now, now])
    if pk == new:
        publish(account_id, RAISED, [NewJob(job_key=str(pk), payload={"notification": str(pk)})])


def mark_read(notification: Notification, user: User) -> None:
    """Record that a person read a notification, with all its occurrences so far."""
    NotificationRead.objects.bulk_create(
        [
            NotificationRead(
                account_id=notification.account_id,
                owner=user,
                notification=notification,
                read_at=max(timezone.now(), notification.last_at),
            )
        ],
        update_conflicts=True,
        unique_fields=["account", "notification", "owner"],
        update_fields=["read_at"],
    )


def mark_all_read(account_id: UUID, user: User, until: datetime) -> None:
    """Record that a person saw everything that happened until then."""
    # A time before year 1 in UTC could be stored, but not read again.
    until = max(NEVER, min(until, timezone.now()))
    row = load_settings(account_id, user)
    if row.seen_until is None or row.seen_until < until:
        _upsert(account_id, [user], {"seen_until": until})
    reads = NotificationRead.objects.of(account_id).filter(owner=user)
    reads.filter(notification__last_at__lte=until).delete()


def load_settings(account_id: UUID, user: User) -> NotificationSettings:
    """Return what a person chose, or the defaults."""
    row = NotificationSettings.objects.of(account_id).filter(owner=user).first()
    return row or NotificationSettings(account_id=account_id, owner=user)


def save_settings(account_id: UUID, user: User, values: Mapping[str, Any]) -> None:
    """Store choices. Of e-mail choices, only those that differ from the defaults are stored."""
    checked = dict(values)
    if "email" in checked:
        checked["email"] = {
            name: mode
            for name, mode in checked["email"].items()
            if (kind := find_kind(name)) and mode != kind.email
        }
    _upsert(account_id, [user], checked)


def mark_digest(account_id: UUID, users: list[User], moment: datetime) -> None:
    """Record when the digest of these people was last due."""
    _upsert(account_id, users, {"digest_at": moment})


def _upsert(account_id: UUID, users: Sequence[User], values: Mapping[str, Any]) -> None:
    NotificationSettings.objects.bulk_create(
        [NotificationSettings(account_id=account_id, owner=user, **values) for user in users],
        update_conflicts=True,
        unique_fields=["account", "owner"],
        update_fields=list(values),
    )
