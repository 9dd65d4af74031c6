"""Retention: memories that nobody changed for the configured time are forgotten.

Restoring a memory is a change, so that the full retention applies again.
"""

from collections.abc import Mapping
from datetime import timedelta
from uuid import UUID

from django.db.models import Count

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.database.steady_clock import SteadyTime
from kmapp.ledger.actions import recording
from kmapp.ledger.read_verification import withhold_mismatches
from memory.actions.record_versions import update_entry
from memory.models import EntryQuerySet, MemoryEntry, MemorySettings, MemoryVersion

BATCH = 200  # memories per commit
MAX_PER_RUN = 10_000  # per account; the next run continues
REASON = "Unchanged for {days} days, the retention set in the policy."


def past_retention(account_id: UUID, kind: str, days: int) -> EntryQuerySet:
    """Return active memories of a kind that nobody changed for so long, without pinned ones."""
    limit = SteadyTime() - timedelta(days=days)
    return MemoryEntry.objects.of(account_id).filter(
        status=MemoryEntry.Status.ACTIVE,
        kind=kind,
        pinned=False,
        created_at__lt=limit,  # implied by the next condition, and indexed
        updated_at__lt=limit,
    )


def count_past_retention(account_id: UUID, days_by_kind: Mapping[str, int]) -> dict[str, int]:
    """Return how many memories of each kind would be forgotten now. Use inside `acting`."""
    return {
        kind: past_retention(account_id, kind, days).count() for kind, days in days_by_kind.items()
    }


def count_active_by_kind(account_id: UUID) -> dict[str, int]:
    rows = MemoryEntry.objects.of(account_id).filter(status=MemoryEntry.Status.ACTIVE)
    return dict(rows.order_by().values_list("kind").annotate(Count("pk")))


def apply_retention(account_id: UUID) -> int:
    """Forget memories past their retention, and return how many. Opens `acting` per batch."""
    with acting(account_id):
        days_by_kind = MemorySettings.objects.get_or_default(account_id).forget_after
    forgotten = 0
    for kind, days in days_by_kind.items():
        last: UUID | None = UUID(int=0)
        while last is not None and forgotten < MAX_PER_RUN:
            number, last = _forget_batch(account_id, kind, days, after=last)
            forgotten += number
    return forgotten


def _forget_batch(
    account_id: UUID, kind: str, days: int, *, after: UUID
) -> tuple[int, UUID | None]:
    """Return how many memories were forgotten, and the last one that was read.

    The next batch follows it, because a row that differs from its seal is not forgotten.
    """
    reason = REASON.format(days=days)
    with acting(account_id), recording(account_id, SYSTEM, reason=reason) as commit:
        rows = past_retention(account_id, kind, days).filter(pk__gt=after)
        rows = rows.with_verify_on_read(account_id)
        # Someone is changing a locked row, which renews its retention.
        locked = rows.order_by("pk").select_for_update(no_key=True, skip_locked=True, of=("self",))
        candidates = list(locked[:BATCH])
        batch = withhold_mismatches(account_id, candidates)
        values = {"status": MemoryEntry.Status.FORGOTTEN}
        for entry in batch:
            update_entry(entry, MemoryVersion.Event.FORGET, values, commit)
    return len(batch), candidates[-1].pk if candidates else None
