"""Closing of notifications that no longer need attention, and deletion of old ones."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import timedelta
from uuid import UUID

from django.utils import timezone

from kmapp.database.steady_clock import SteadyTime
from kmapp.notifications.kinds import Subject, find_kind
from kmapp.notifications.models import Notification

RETENTION = timedelta(days=30)  # of closed notifications
MAX_OPEN_AGE = timedelta(days=90)  # of any, since it last happened
MAX_DELETED = 1_000  # of an account

Row = tuple[str, str]  # kind and subject


def load_subjects(account_id: UUID, rows: Iterable[Notification]) -> Mapping[Row, Subject]:
    """Return what still needs attention, by kind and subject. A query or two for each kind."""
    by_kind: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        by_kind[row.kind].add(row.subject)
    return {
        (name, text): subject
        for name, texts in by_kind.items()
        if (kind := find_kind(name))
        for text, subject in kind.load(account_id, sorted(texts)).items()
    }


def refresh_open_notifications(account_id: UUID) -> list[Notification]:
    """Close and count the open notifications; return those that stay open. Inside `acting`."""
    delete_old_notifications(account_id)
    rows = list(Notification.objects.of(account_id).open().order_by("-last_at", "-pk"))
    subjects, now, remaining = load_subjects(account_id, rows), timezone.now(), []
    for row in rows:
        # A notification that is repeated meanwhile has another `last_at` and is not changed.
        same = Notification.objects.of(account_id).filter(pk=row.pk, last_at=row.last_at)
        subject = subjects.get((row.kind, row.subject))
        if subject is None:
            same.update(closed_at=now)
            continue
        if subject.count is not None and subject.count != row.count:
            same.update(count=subject.count)
            row.count = subject.count
        remaining.append(row)
    return remaining


def delete_old_notifications(account_id: UUID) -> None:
    now, rows = SteadyTime(), Notification.objects.of(account_id)
    rows.filter(closed_at__lt=now - RETENTION).delete()
    rows.filter(last_at__lt=now - MAX_OPEN_AGE).delete()
    newest = rows.order_by("-last_at", "-pk").values_list("pk", flat=True)
    if surplus := list(newest[MAX_DELETED : 2 * MAX_DELETED]):
        rows.filter(pk__in=surplus).delete()
