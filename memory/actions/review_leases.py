"""Leases of proposals, so that one person at a time reviews each. Use inside `acting`."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now

from kmapp.database.ids import uuid7
from kmapp.errors import Conflict
from memory.models import EntryQuerySet, MemoryEntry, ReviewLease

DURATION = timedelta(minutes=5)
# A lease that ends even later was created before the clock was set back. The factor leaves room for
# the difference between `Now` of two statements.
_IS_LIVE = Q(until__gt=Now(), until__lte=Now() + 2 * DURATION)
MAX_ATTEMPTS = 3  # another person may lease a proposal between our query and our lease


class LeasedByOther(Conflict):
    """Another person has leased this proposal."""

    code = "taken"

    def __init__(self, lease: ReviewLease) -> None:
        super().__init__("Someone else is reviewing this proposal.")
        self.lease = lease


# One statement, so that only one of two concurrent requests gets the lease. A live lease of another
# person stays unchanged. The holder's token stays too, since all their windows share it, and their
# leases of other proposals are released.
_ACQUIRE = """
WITH released AS (
  DELETE FROM memory_reviewlease
  WHERE account_id = %(account)s AND holder = %(holder)s AND entry_id <> %(entry)s
)
INSERT INTO memory_reviewlease AS l (id, account_id, entry_id, holder, token, until)
VALUES (%(id)s, %(account)s, %(entry)s, %(holder)s, %(token)s, statement_timestamp() + %(lasts)s)
ON CONFLICT (entry_id) DO UPDATE SET
  holder = excluded.holder, until = excluded.until,
  token = CASE WHEN l.holder = excluded.holder THEN l.token ELSE excluded.token END
WHERE l.holder = excluded.holder OR l.until <= statement_timestamp()
  OR l.until > statement_timestamp() + 2 * %(lasts)s OR %(by_force)s
RETURNING id, account_id, entry_id, holder, token, until
"""


def acquire_lease(
    account_id: UUID, entry_id: UUID, holder: str, *, by_force: bool = False
) -> ReviewLease | None:
    """Lease this proposal, and release others; return None if another person has leased it."""
    values: dict[str, Any] = {
        "id": uuid7(),
        "account": account_id,
        "entry": entry_id,
        "holder": holder,
        "token": uuid7(),
        "lasts": DURATION,
        "by_force": by_force,
    }
    return next(iter(ReviewLease.objects.raw(_ACQUIRE, values)), None)


def acquire_next_lease(
    rows: EntryQuerySet, account_id: UUID, holder: str
) -> tuple[MemoryEntry, ReviewLease] | None:
    for _ in range(MAX_ATTEMPTS):
        free = rows.filter(~leased_by_other(holder))
        # Skip proposals that someone is deciding about.
        entry = free.select_for_update(skip_locked=True, no_key=True, of=("self",)).first()
        if entry is None:
            return None
        if lease := acquire_lease(account_id, entry.pk, holder):
            return entry, lease
    return None


def leased_by_other(holder: str) -> Exists:
    """Return the condition that another person has leased a memory."""
    live = ReviewLease.objects.filter(
        _IS_LIVE, account_id=OuterRef("account_id"), entry_id=OuterRef("pk")
    )
    return Exists(live.exclude(holder=holder))


def find_lease(account_id: UUID, entry_id: UUID) -> ReviewLease | None:
    return ReviewLease.objects.of(account_id).filter(_IS_LIVE, entry_id=entry_id).first()


def check_not_leased_by_other(account_id: UUID, entry_id: UUID, holder: str) -> None:
    lease = find_lease(account_id, entry_id)
    if lease and lease.holder != holder:
        raise LeasedByOther(lease)


def renew_lease(account_id: UUID, entry_id: UUID, token: UUID) -> bool:
    """Extend a lease, also an expired one, unless another person has taken it over."""
    rows = ReviewLease.objects.of(account_id).filter(entry_id=entry_id, token=token)
    return bool(rows.update(until=Now() + DURATION))


def release_lease(account_id: UUID, entry_id: UUID) -> None:
    ReviewLease.objects.of(account_id).filter(entry_id=entry_id).delete()
