"""Notifications that webhooks report: the event types are the names of the kinds."""

from collections.abc import Sequence
from uuid import UUID

from django.conf import settings
from django.utils import translation

from kmapp.notifications.close_notifications import load_subjects
from kmapp.notifications.kinds import Subject, labels
from kmapp.notifications.models import Notification
from kmapp.notifications.notification_line import NotificationLine
from kmapp.notifications.webhooks.change_registry import (
    ChangeSource,
    ReportedChange,
    register_source,
)

SOURCE = "notifications"


def load_changes(account_id: UUID, references: Sequence[UUID]) -> dict[UUID, ReportedChange]:
    """Return the notifications with their texts, in the language of the installation."""
    rows = Notification.objects.of(account_id).open().filter(pk__in=references)
    with translation.override(settings.LANGUAGE_CODE):
        subjects = load_subjects(account_id, rows)
        return {
            row.pk: _build_change(row, subject)
            for row in rows
            if (subject := subjects.get((row.kind, row.subject)))
        }


def _build_change(row: Notification, subject: Subject) -> ReportedChange:
    line = NotificationLine.of(row, subject)
    return ReportedChange(
        event_type=row.kind,
        created_at=row.first_at,
        data={
            "id": row.pk,
            "severity": line.kind.severity.value if line.kind else None,
            "text": line.text,
            "title": line.title or None,
            "count": line.count,
            "url": line.url,
        },
    )


register_source(ChangeSource(name=SOURCE, event_types=labels, load=load_changes))
