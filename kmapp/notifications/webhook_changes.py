"""Notifications that webhooks report: the event types are the names of the kinds."""

from collections.abc import Sequence
from uuid import UUID

from django.conf import settings
from django.utils import translation

from kmapp.notifications.kinds import Subject, find_kind, labels
from kmapp.notifications.models import Notification
from kmapp.notifications.refresh import load_subjects
from kmapp.webhooks.changes import Change, Source, register_source

SOURCE = "notifications"


def load_changes(account_id: UUID, references: Sequence[UUID]) -> dict[UUID, Change]:
    """Return the notifications with their texts, in the language of the installation."""
    rows = Notification.objects.of(account_id).open().filter(pk__in=references)
    with translation.override(settings.LANGUAGE_CODE):
        subjects = load_subjects(account_id, rows)
        return {
            row.pk: _change(row, subject)
            for row in rows
            if (subject := subjects.get((row.kind, row.subject)))
        }


def _change(row: Notification, subject: Subject) -> Change:
    kind = find_kind(row.kind)
    assert kind is not None  # noqa: S101 - kinds load their subjects
    count = row.count if subject.count is None else subject.count
    return Change(
        event_type=row.kind,
        created_at=row.first_at,
        data={
            "id": row.pk,
            "severity": kind.severity.value,
            "text": kind.text(row.subject, count),
            "title": subject.title or None,
            "count": count,
            "url": settings.PUBLIC_URL + kind.url(row.subject),
        },
    )


register_source(Source(name=SOURCE, event_types=labels, load=load_changes))
