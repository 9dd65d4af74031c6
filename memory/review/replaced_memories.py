"""Memories and pending proposals that the approval of a proposal supersedes. Inside `acting`.

An approval supersedes what the proposal replaces. If that is a pending proposal, also what the
pending one would have superseded, because nobody can approve it any more.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Case, Count, When, Window
from django.db.models.expressions import RawSQL

from kmapp.database.raw_sql import fetch_all
from memory.models import EntryQuerySet, MemoryEdge, MemoryEntry

Status = MemoryEntry.Status
REPLACEABLE = frozenset({Status.ACTIVE, Status.PROPOSED})
MAX_DISPLAYED = 20  # memories; the quota of an agent permits longer chains of updates

# One statement for chains of any length, because agents write them. UNION ends a cycle.
_REPLACED_SQL = f"""
WITH RECURSIVE replaced (proposal, id, status) AS (
  SELECT e.src_id, m.id, m.status FROM {MemoryEdge._meta.db_table} e
  JOIN {MemoryEntry._meta.db_table} p
    ON p.account_id = e.account_id AND p.id = e.src_id AND p.status = 'proposed'
  JOIN {MemoryEntry._meta.db_table} m
    ON m.account_id = e.account_id AND m.id = e.dst_id AND m.status IN ('active', 'proposed')
  WHERE e.account_id = %s AND e.src_id = ANY (%s::uuid[]) AND e.type = 'supersedes'
  UNION
  SELECT r.proposal, m.id, m.status FROM replaced r
  JOIN {MemoryEdge._meta.db_table} e
    ON e.account_id = %s AND e.src_id = r.id AND e.type = 'supersedes'
  JOIN {MemoryEntry._meta.db_table} m
    ON m.account_id = e.account_id AND m.id = e.dst_id AND m.status IN ('active', 'proposed')
  WHERE r.status = 'proposed'
)
SELECT proposal, id FROM replaced WHERE id <> proposal
"""  # noqa: S608 - names of our tables
_REPLACED_IDS_SQL = f"SELECT id FROM ({_REPLACED_SQL}) pairs"  # noqa: S608 - as above


def find_replaced(account_id: UUID, ids: Collection[UUID]) -> set[UUID]:
    """Return what the approval of these proposals supersedes."""
    replaced: set[UUID] = set()
    return replaced.union(*find_replaced_by_proposal(account_id, ids).values())


def find_replaced_by_proposal(
    account_id: UUID, ids: Collection[UUID]
) -> Mapping[UUID, Collection[UUID]]:
    """Return what the approval of each of these proposals supersedes; nothing for the others."""
    replaced: dict[UUID, set[UUID]] = defaultdict(set)
    for proposal, pk in fetch_all(_REPLACED_SQL, [account_id, [*ids], account_id]):
        replaced[proposal].add(pk)
    return replaced


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplacedMemories:
    """What an approval supersedes, as pages display it."""

    first: Sequence[MemoryEntry] = ()  # at most MAX_DISPLAYED, active memories first
    more: int = 0


def load_replaced(proposal: MemoryEntry) -> ReplacedMemories:
    """Return what the approval of this proposal supersedes. One query."""
    account_id = proposal.account_id
    ids = RawSQL(_REPLACED_IDS_SQL, [account_id, [proposal.pk], account_id])  # noqa: S611 - a constant
    return load_first(MemoryEntry.objects.of(account_id).filter(pk__in=ids))


def load_first(rows: EntryQuerySet) -> ReplacedMemories:
    """Return the first of these memories, and the number of the others. One query."""
    is_pending = Case(When(status=Status.ACTIVE, then=0), default=1)
    ordered: Any = rows.annotate(number=Window(Count("pk"))).order_by(is_pending, "pk")
    first = list(ordered[:MAX_DISPLAYED])
    return ReplacedMemories(first=first, more=first[0].number - len(first) if first else 0)
