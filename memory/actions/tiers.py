"""Letting memories cool that nobody is told any more: hot, warm, cold.

What is cold is found by its words alone: it has no vectors, so the index of meanings stays small.
Told again, it is warm and has its vectors again (memory.actions.accesses). Archived ones stay so.
"""

from uuid import UUID

from django.db import connection

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.ledger.actions import recording
from memory.actions.versions import update_entry
from memory.models import MemoryEntry, MemoryVersion

Tier = MemoryEntry.Tier
# How warm a memory is: what it is worth, halved for each half-life since it was last told.
HALF_LIFE_DAYS = 180  # days, of a memory that has none of its own
NEXT = ((Tier.HOT, Tier.WARM, 0.25), (Tier.WARM, Tier.COLD, 0.1))  # below that warmth
BATCH = 200  # memories a commit
MOST = 10_000  # of one account in one run; the next run goes on
REASON = "Nobody was told it for long."

_COOLED = """
SELECT id FROM memory_memoryentry
WHERE account_id = %s AND status = 'active' AND tier = %s AND NOT pinned
  AND kind NOT IN ('topic', 'entity')
  AND greatest(importance, salience) * 0.5 ^ least(100, extract(epoch FROM
    now() - greatest(created_at, last_accessed_at, last_activated_at))::float8
    / 86400 / coalesce(nullif(greatest(half_life_days, 0), 0), %s)) < %s
ORDER BY id LIMIT %s
"""


def demote_unused_entries(account_id: UUID, *, most: int = MOST) -> int:
    """Move what cooled one tier down. Opens `acting` itself, once for each batch."""
    moved = 0
    for tier, below, warmth in reversed(NEXT):  # the coldest first: one step a run
        while moved < most and (done := _move_some(account_id, tier, below, warmth)):
            moved += done
    return moved


def _move_some(account_id: UUID, tier: Tier, below: Tier, warmth: float) -> int:
    with acting(account_id), recording(account_id, SYSTEM, reason=REASON) as commit:
        with connection.cursor() as cursor:
            cursor.execute(_COOLED, [account_id, tier, HALF_LIFE_DAYS, warmth, BATCH])
            ids = [row[0] for row in cursor.fetchall()]
        rows = MemoryEntry.objects.of(account_id).filter(pk__in=ids, tier=tier).order_by("pk")
        # Somebody works on a locked one just now: its turn comes with the next run.
        some = list(rows.select_for_update(no_key=True, skip_locked=True))
        for entry in some:
            update_entry(
                entry,
                actor=SYSTEM,
                event=MemoryVersion.Event.UPDATE,
                reason=REASON,
                values={"tier": below},
                commit=commit,
            )
    return len(some)
