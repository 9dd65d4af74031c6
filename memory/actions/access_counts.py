"""Storing of counted recalls: use of memories and of their edges, and warming of cold memories."""

from collections.abc import Mapping
from uuid import UUID

from django.db import connection

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.ledger.actions import recording
from kmapp.ledger.read_verification import withhold_mismatches
from memory.actions.entry_locks import lock_entries, lock_entry
from memory.actions.record_versions import update_entry
from memory.models import MemoryEntry, MemoryVersion
from memory.retrieval.access_counters import add_counts, take_counts

WARMED = "recalled again"  # reason of commits
_ADD_COUNTS = """
UPDATE memory_memoryentry e SET access_count = e.access_count + t.number,
  last_accessed_at = now(), last_activated_at = now()
FROM unnest(%s::uuid[], %s::int[]) AS t (id, number) WHERE e.account_id = %s AND e.id = t.id
"""
# An edge between two recalled memories is in use, so its decay starts again.
_TOUCH_EDGES = """
UPDATE memory_memoryedge SET last_activated_at = now()
WHERE account_id = %s AND src_id = ANY (%s::uuid[]) AND dst_id = ANY (%s::uuid[])
  AND coalesce(last_activated_at, created_at) < now() - interval '1 hour'
"""


def flush_access_counts(account_id: UUID) -> int:
    """Store the counted recalls, warm recalled cold memories, and return how many were recalled."""
    counts = take_counts(account_id)
    if counts:
        try:
            _store_counts(account_id, counts)
        except Exception:
            add_counts(account_id, counts)  # for the next run
            raise
    return len(counts)


def _store_counts(account_id: UUID, counts: Mapping[UUID, int]) -> None:
    ids = list(counts)
    with acting(account_id):
        lock_entries(account_id, ids)
        with connection.cursor() as cursor:
            cursor.execute(_ADD_COUNTS, [ids, list(counts.values()), account_id])
            cursor.execute(_TOUCH_EDGES, [account_id, ids, ids])
        # A memory that was forgotten after it was recalled gets no version, because only the latest
        # change can be undone.
        cold = MemoryEntry.objects.of(account_id).filter(
            pk__in=ids, tier=MemoryEntry.Tier.COLD, status=MemoryEntry.Status.ACTIVE
        )
        with recording(account_id, SYSTEM, reason=WARMED) as commit:
            for pk in sorted(cold.values_list("pk", flat=True)):
                entry = lock_entry(account_id, pk)
                if withhold_mismatches(account_id, [entry]):
                    update_entry(
                        entry, MemoryVersion.Event.UPDATE, {"tier": MemoryEntry.Tier.WARM}, commit
                    )
