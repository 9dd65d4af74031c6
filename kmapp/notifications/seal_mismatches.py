"""Reports of rows that differ from their seal: for pages, notifications and webhooks."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from kmapp.ledger.models import Mismatch
from kmapp.ledger.read_verification import ObjectKey, Reason
from kmapp.notifications.actions import notify
from kmapp.notifications.kernel_kinds import LEDGER_BROKEN, MISMATCH_PERIOD, ROWS
from kmapp.notifications.webhooks.actions import report_changes
from kmapp.notifications.webhooks.change_registry import (
    ChangeSource,
    ReportedChange,
    register_source,
)

SOURCE = "ledger"
EVENT_TYPE = "ledger.mismatch"
REFRESHED = timedelta(minutes=1)


def list_mismatches(account_id: UUID) -> list[Mismatch]:
    """Return the recent mismatches of the account, newest first. Inside `acting`."""
    rows = Mismatch.objects.of(account_id).filter(last_seen_at__gt=timezone.now() - MISMATCH_PERIOD)
    return list(rows.order_by("-last_seen_at", "-pk")[:50])


def report_mismatches(account_id: UUID, mismatches: Mapping[ObjectKey, Reason]) -> None:
    """Store mismatches, and notify people and webhooks of new ones. Inside `acting`."""
    now = timezone.now()
    rows = Mismatch.objects.of(account_id)
    rows.filter(last_seen_at__lt=now - MISMATCH_PERIOD).delete()
    ids = [key.object_id for key in mismatches]
    existing = {ObjectKey(row.object_type, row.object_id) for row in rows.filter(object_id__in=ids)}
    if existing:  # a row that many requests read is written once a minute
        rows.filter(object_id__in=ids, last_seen_at__lt=now - REFRESHED).update(last_seen_at=now)
    new = [
        Mismatch(
            account_id=account_id,
            first_seen_at=now,
            last_seen_at=now,
            reason=reason,
            **key._asdict(),
        )
        for key, reason in mismatches.items()
        if key not in existing
    ]
    Mismatch.objects.bulk_create(new, ignore_conflicts=True)
    created = list(rows.filter(pk__in=[row.pk for row in new]).values_list("pk", flat=True))
    if created:
        notify(account_id, LEDGER_BROKEN, ROWS, times=len(created))
    report_changes(account_id, SOURCE, created)


def load_changes(account_id: UUID, references: Sequence[UUID]) -> dict[UUID, ReportedChange]:
    rows = Mismatch.objects.of(account_id).filter(pk__in=references)
    return {
        row.pk: ReportedChange(
            event_type=EVENT_TYPE,
            created_at=row.first_seen_at,
            data={"id": row.object_id, "object_type": row.object_type, "reason": row.reason},
        )
        for row in rows
    }


register_source(
    ChangeSource(
        name=SOURCE,
        event_types={EVENT_TYPE: _("A row differs from the ledger and is withheld")},
        load=load_changes,
    )
)
