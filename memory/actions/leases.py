"""Handing out proposals: each to one person, for a few minutes. Inside `acting`."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Exists, OuterRef
from django.db.models.functions import Now

from kmapp.database.ids import uuid7
from kmapp.errors import Conflict
from memory.models import EntryQuerySet, MemoryEntry, ReviewLease

LASTS = timedelta(minutes=5)
TRIES = 3  # a proposal may be taken between our look and our lease


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Who has a proposal in hand, and until when. The token is told to its holder only."""

    entry_id: UUID
    holder: str
    token: UUID
    until: datetime


class LeasedByOther(Conflict):
    """Somebody else has this proposal in hand."""

    code = "taken"

    def __init__(self, held: Lease) -> None:
        super().__init__("Somebody else has this proposal in hand.")
        self.held = held


# One statement, so that of two who ask at once one gets it: a live lease of another stays. Who has
# it already keeps the token: two windows of one person are one person. What they had before goes.
_ACQUIRE = """
WITH gone AS (
  DELETE FROM memory_reviewlease
  WHERE account_id = %(account)s AND holder = %(holder)s AND entry_id <> %(entry)s
)
INSERT INTO memory_reviewlease AS l (id, account_id, entry_id, holder, token, until)
VALUES (%(id)s, %(account)s, %(entry)s, %(holder)s, %(token)s, now() + %(lasts)s)
ON CONFLICT (entry_id) DO UPDATE SET
  holder = excluded.holder, until = excluded.until,
  token = CASE WHEN l.holder = excluded.holder THEN l.token ELSE excluded.token END
WHERE l.holder = excluded.holder OR l.until <= now() OR %(by_force)s
RETURNING entry_id, holder, token, until
"""


def acquire_lease(
    account_id: UUID, entry_id: UUID, holder: str, *, by_force: bool = False
) -> Lease | None:
    """Have this proposal in hand, and no other; None if somebody else has it."""
    values: dict[str, Any] = {
        "id": uuid7(),
        "account": account_id,
        "entry": entry_id,
        "holder": holder,
        "token": uuid7(),
        "lasts": LASTS,
        "by_force": by_force,
    }
    with connection.cursor() as cursor:
        cursor.execute(_ACQUIRE, values)
        row = cursor.fetchone()
    return Lease(entry_id=row[0], holder=row[1], token=row[2], until=row[3]) if row else None


def acquire_next_lease(
    rows: EntryQuerySet, account_id: UUID, holder: str
) -> tuple[MemoryEntry, Lease] | None:
    """Lease the first proposal that nobody else has leased."""
    for _ in range(TRIES):
        entry = lock_available(rows, holder).first()
        if entry is None:
            return None
        if held := acquire_lease(account_id, entry.pk, holder):
            return entry, held
    return None


def lock_available(rows: EntryQuerySet, holder: str) -> EntryQuerySet:
    """Proposals that nobody else has in hand or decides about at this moment."""
    free = rows.filter(~leased_by_other(holder))
    return free.select_for_update(skip_locked=True, no_key=True, of=("self",))


def leased_by_other(holder: str) -> Exists:
    """For each memory: whether somebody else has it in hand."""
    live = ReviewLease.objects.filter(
        account_id=OuterRef("account_id"), entry_id=OuterRef("pk"), until__gt=Now()
    )
    return Exists(live.exclude(holder=holder))


def find_lease(account_id: UUID, entry_id: UUID) -> Lease | None:
    row = ReviewLease.objects.of(account_id).filter(entry_id=entry_id, until__gt=Now()).first()
    if row is None:
        return None
    return Lease(entry_id=row.entry_id, holder=row.holder, token=row.token, until=row.until)


def check_not_leased_by_other(account_id: UUID, entry_id: UUID, holder: str) -> None:
    """Nobody decides over the head of whoever has it in hand."""
    held = find_lease(account_id, entry_id)
    if held and held.holder != holder:
        raise LeasedByOther(held)


def renew_lease(account_id: UUID, entry_id: UUID, token: UUID) -> bool:
    """Keep it in hand, unless somebody took it over. Lapsed and taken by nobody, it still is."""
    mine = ReviewLease.objects.of(account_id).filter(entry_id=entry_id, token=token)
    return bool(mine.update(until=Now() + LASTS))


def release_lease(account_id: UUID, entry_id: UUID) -> None:
    """Release the lease of a decided proposal."""
    ReviewLease.objects.of(account_id).filter(entry_id=entry_id).delete()
