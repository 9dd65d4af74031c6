"""Tiers of memories by use: hot, warm, cold.

Unused memories move down one tier at a time. Cold memories have no vectors, which keeps the vector
index small, and are found by their words. A recalled cold memory becomes warm and is embedded
again. Archived memories stay archived.
"""

from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.database.raw_sql import fetch_all
from kmapp.ledger.actions import recording
from kmapp.ledger.read_verification import withhold_mismatches
from memory.actions.record_versions import update_entry
from memory.models import MemoryEntry, MemoryVersion
from memory.models.entries import MIN_HALF_LIFE_DAYS

Event, Tier = MemoryVersion.Event, MemoryEntry.Tier
# Warmth: the greater of importance and salience, halved for each half-life since the last use.
HALF_LIFE_DAYS = 180  # of a memory without its own half-life
COOLING_STEPS = ((Tier.HOT, Tier.WARM, 0.25), (Tier.WARM, Tier.COLD, 0.1))  # from, to, warmth
BATCH = 200  # memories per commit
MAX_PER_RUN = 10_000  # per account; the next run continues
COOLED = "Not recalled for a long time."  # reason of commits

# Selected and locked in one statement: no row can change in between. Someone is changing a row that
# is skipped; the next run checks it.
_LOCK_COOLED = """
SELECT id FROM memory_memoryentry
WHERE account_id = %s AND status = 'active' AND tier = %s AND id > %s AND NOT pinned
  AND kind NOT IN ('topic', 'entity')
  AND greatest(importance, salience) * 0.5 ^ least(100, greatest(0, extract(epoch FROM
    now() - greatest(created_at, last_accessed_at, last_activated_at))::float8 / 86400
    / CASE WHEN half_life_days > 0 THEN greatest(%s, half_life_days) ELSE %s END)) < %s
ORDER BY id LIMIT %s FOR NO KEY UPDATE SKIP LOCKED
"""


def demote_unused_entries(account_id: UUID) -> int:
    """Move unused memories one tier down, and return how many. Opens `acting` for each batch."""
    moved = 0
    for tier, below, warmth in reversed(COOLING_STEPS):  # so that a memory moves once per run
        last: UUID | None = UUID(int=0)
        while last is not None and moved < MAX_PER_RUN:
            number, last = _demote_batch(account_id, tier, below, warmth, after=last)
            moved += number
    return moved


def _demote_batch(
    account_id: UUID, tier: str, below: str, warmth: float, *, after: UUID
) -> tuple[int, UUID | None]:
    """Return how many memories were moved, and the last one that was read.

    The next batch follows it, because a row that differs from its seal is not moved.
    """
    with acting(account_id), recording(account_id, SYSTEM, reason=COOLED) as commit:
        half_lives = (MIN_HALF_LIFE_DAYS, HALF_LIFE_DAYS)
        values = [account_id, tier, after, *half_lives, warmth, BATCH]
        ids = [pk for (pk,) in fetch_all(_LOCK_COOLED, values)]
        rows = MemoryEntry.objects.of(account_id).with_verify_on_read(account_id)
        batch = withhold_mismatches(account_id, list(rows.filter(pk__in=ids).order_by("pk")))
        for entry in batch:
            update_entry(entry, Event.UPDATE, {"tier": below}, commit)
    return len(batch), ids[-1] if ids else None
