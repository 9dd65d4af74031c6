"""Writing down how often memories were told. What is used again is no longer cold."""

from uuid import UUID

from django.db import connection

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.ledger.actions import recording
from memory.actions.versions import lock_entry, update_entry
from memory.models import MemoryEntry, MemoryVersion
from memory.retrieval.access_counters import take_counts

Tier = MemoryEntry.Tier
_WRITE = """
UPDATE memory_memoryentry e SET access_count = e.access_count + t.number,
  last_accessed_at = now(), last_activated_at = now()
FROM unnest(%s::uuid[], %s::int[]) AS t (id, number) WHERE e.account_id = %s AND e.id = t.id
"""
# What was told together: what joins it is in use, and fades from now on anew.
_JOINED = """
UPDATE memory_memoryedge SET last_activated_at = now()
WHERE account_id = %s AND src_id = ANY (%s::uuid[]) AND dst_id = ANY (%s::uuid[])
  AND coalesce(last_activated_at, created_at) < now() - interval '1 hour'
"""


def flush_access_counts(account_id: UUID) -> int:
    """Add what was counted to the memories. Returns how many of them were told."""
    access_counts = take_counts(account_id)
    if access_counts:
        with acting(account_id):
            with connection.cursor() as cursor:
                cursor.execute(
                    _WRITE, [list(access_counts), list(access_counts.values()), account_id]
                )
                cursor.execute(_JOINED, [account_id, list(access_counts), list(access_counts)])
            _warm(account_id, list(access_counts))
    return len(access_counts)


def _warm(account_id: UUID, ids: list[UUID]) -> None:
    cold = MemoryEntry.objects.of(account_id).filter(pk__in=ids, tier=Tier.COLD)
    warmed = sorted(cold.values_list("pk", flat=True))
    if warmed:
        with recording(account_id, SYSTEM, reason="used again") as commit:
            for pk in warmed:
                update_entry(
                    lock_entry(account_id, pk),
                    actor=SYSTEM,
                    event=MemoryVersion.Event.UPDATE,
                    reason="used again",
                    values={"tier": Tier.WARM},
                    commit=commit,
                )
