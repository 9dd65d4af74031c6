"""What came after what: `next` edges along a run. Derived, so never in the ledger."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection
from django.db.models import Q
from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.accounts.models import AccountQuerySet
from kmapp.database.ids import uuid7
from kmapp.outbox.actions import Task, publish
from memory.actions.enqueue import EMBED
from memory.models import MemoryEdge, MemoryEntry
from memory.retrieval.run_order import neighbours

NEXT_WEIGHT = 0.5


@dataclass(frozen=True, slots=True)
class Pair:
    src: UUID
    dst: UUID


def derive_run_order(account_id: UUID, ids: Sequence[UUID], job: UUID) -> int:
    """Draw the edges into and out of entries that joined a run, and join what others left.

    Returns how many edges there are now. What follows another entry than before, or an entry that
    reads otherwise, is embedded again.
    """
    with acting(account_id):
        _hold_runs(account_id, ids)
        adjacent_edges = _derived(account_id).filter(Q(src__in=ids) | Q(dst__in=ids))
        former = {end for edge in adjacent_edges for end in (edge.src_id, edge.dst_id)}
        rows = neighbours(account_id, list({*ids, *former}))
        pairs = {Pair(row.before_id, row.pk) for row in rows if row.before_id}
        pairs |= {Pair(row.pk, row.after_id) for row in rows if row.after_id}
        changed = _redraw(account_id, ids, pairs)
        changed |= {row.after_id for row in rows if row.after_id and row.pk in ids}
        publish(
            account_id,
            EMBED,
            [
                Task(job_key=f"{each}:{job}", payload={"entry": str(each)})
                for each in changed - {*ids}
            ],
        )
        return len(pairs)


def _hold_runs(account_id: UUID, ids: Sequence[UUID]) -> None:
    """One job at a time in a run: two would not see each other's entries."""
    entries = MemoryEntry.objects.of(account_id).filter(pk__in=ids)
    runs = set(entries.values_list("user_id", "run_id"))
    with connection.cursor() as cursor:
        for user_id, run_id in sorted(runs):
            cursor.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))",
                [f"run\x1f{account_id}\x1f{user_id}\x1f{run_id}"],
            )


def _redraw(account_id: UUID, ids: Sequence[UUID], pairs: set[Pair]) -> set[UUID]:
    """Make these pairs the edges around them. Returns the ends of edges that came or went.

    What goes are edges that lead past a new entry, out of a pair's start or into a pair's end, and
    those of entries that left.
    """
    drawn = _derived(account_id).filter(
        Q(src__in={*ids, *(pair.src for pair in pairs)})
        | Q(dst__in={*ids, *(pair.dst for pair in pairs)})
    )
    before = {Pair(edge.src_id, edge.dst_id): edge.pk for edge in drawn}
    stale = before.keys() - pairs
    fresh = pairs - before.keys()
    if stale:
        _derived(account_id).filter(pk__in=[before[pair] for pair in stale]).delete()
    now = timezone.now()
    MemoryEdge.objects.bulk_create(
        [
            MemoryEdge(
                id=uuid7(),
                account_id=account_id,
                src_id=pair.src,
                dst_id=pair.dst,
                type=MemoryEdge.Type.NEXT,
                weight=NEXT_WEIGHT,
                origin=MemoryEdge.Origin.DERIVED,
                created_at=now,
            )
            for pair in fresh
        ],
        ignore_conflicts=True,  # an agent may have drawn it
        batch_size=500,
    )
    return {pair.dst for pair in stale | fresh}


def _derived(account_id: UUID) -> AccountQuerySet[MemoryEdge]:
    return MemoryEdge.objects.of(account_id).filter(
        type=MemoryEdge.Type.NEXT, origin=MemoryEdge.Origin.DERIVED
    )
