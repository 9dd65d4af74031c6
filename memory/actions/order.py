"""What came after what: `next` edges along a run. Derived, so never in the ledger."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.ids import uuid7
from kmapp.outbox.actions import Task, publish
from memory.actions.owed import EMBED
from memory.models import MemoryEdge
from memory.order import neighbours

NEXT_WEIGHT = 0.5


@dataclass(frozen=True, slots=True)
class Pair:
    src: UUID
    dst: UUID


def put_in_order(account_id: UUID, ids: Sequence[UUID], job: UUID) -> int:
    """Draw the edges into and out of entries that joined a run. Returns how many there are.

    What now follows one of them read another predecessor before: it is embedded again.
    """
    with acting(account_id):
        rows = neighbours(account_id, ids)
        pairs = {Pair(row.before_id, row.pk) for row in rows if row.before_id}
        pairs |= {Pair(row.pk, row.after_id) for row in rows if row.after_id}
        if not pairs:
            return 0
        _undraw_skips(account_id, pairs)
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
                for pair in pairs
            ],
            ignore_conflicts=True,  # a job may run twice, and an agent may have drawn it
            batch_size=500,
        )
        displaced = {row.after_id for row in rows if row.after_id} - {row.pk for row in rows}
        publish(
            account_id,
            EMBED,
            [Task(job_key=f"{each}:{job}", payload={"entry": str(each)}) for each in displaced],
        )
        return len(pairs)


def _undraw_skips(account_id: UUID, pairs: set[Pair]) -> None:
    """Remove what led past a new entry: an old edge out of a new edge's start, or into its end."""
    wanted = {(pair.src, pair.dst) for pair in pairs}
    drawn = MemoryEdge.objects.of(account_id).filter(
        type=MemoryEdge.Type.NEXT, origin=MemoryEdge.Origin.DERIVED
    )
    out = drawn.filter(src__in={pair.src for pair in pairs})
    into = drawn.filter(dst__in={pair.dst for pair in pairs})
    stale = [e.pk for rows in (out, into) for e in rows if (e.src_id, e.dst_id) not in wanted]
    MemoryEdge.objects.of(account_id).filter(pk__in=stale).delete()
