"""Keeping memories no longer than the account wants: forgotten, which a person can take back."""

from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

from django.db.models import Count
from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.ledger.actions import recording
from memory.actions.versions import update_entry
from memory.models import EntryQuerySet, MemoryEntry, MemorySettings, MemoryVersion

BATCH = 200  # memories a commit
MOST = 10_000  # of one account in one run; the next run goes on
REASON = "Kept for {days} days without a change, as the policy says."


def past_retention(account_id: UUID, kind: str, days: int) -> EntryQuerySet:
    """Active memories of a kind that nobody changed for so long. Pinned ones stay.

    Taking a forgotten memory back is a change: it then has as long again.
    """
    then = timezone.now() - timedelta(days=days)
    return MemoryEntry.objects.of(account_id).filter(
        status=MemoryEntry.Status.ACTIVE,
        kind=kind,
        pinned=False,
        created_at__lt=then,  # implied by the next one, and indexed
        updated_at__lt=then,
    )


def count_past_retention(account_id: UUID, days_by_kind: Mapping[str, int]) -> dict[str, int]:
    """How many memories of each kind these days would forget now. Inside `acting`."""
    return {
        kind: past_retention(account_id, kind, days).count() for kind, days in days_by_kind.items()
    }


def count_active_by_kind(account_id: UUID) -> dict[str, int]:
    rows = MemoryEntry.objects.of(account_id).filter(status=MemoryEntry.Status.ACTIVE)
    return dict(rows.order_by().values_list("kind").annotate(Count("pk")))


def apply_retention(account_id: UUID, *, most: int = MOST) -> int:
    """Forget what the policy no longer keeps. Opens `acting` itself, once for each batch."""
    with acting(account_id):
        days_by_kind = MemorySettings.objects.get_or_default(account_id).forget_after
    forgotten = 0
    for kind, days in days_by_kind.items():
        while forgotten < most and (done := _forget_some(account_id, kind, days)):
            forgotten += done
    return forgotten


def _forget_some(account_id: UUID, kind: str, days: int) -> int:
    reason = REASON.format(days=days)
    with acting(account_id), recording(account_id, SYSTEM, reason=reason) as commit:
        rows = past_retention(account_id, kind, days).order_by("pk")
        # Somebody works on a locked one just now: it is about to be younger.
        some = list(rows.select_for_update(no_key=True, skip_locked=True)[:BATCH])
        for entry in some:
            update_entry(
                entry,
                actor=SYSTEM,
                event=MemoryVersion.Event.FORGET,
                reason=reason,
                values={"status": MemoryEntry.Status.FORGOTTEN},
                commit=commit,
            )
    return len(some)
