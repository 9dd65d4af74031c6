"""Progress of decisions about many memories, whose parts run as jobs."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from kmapp.outbox.models import Delivery
from memory.actions.follow_up_jobs import BULK, BULK_UNDO
from memory.models import BulkPart, BulkRun


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkRunProgress:
    requested: int
    examined: int
    done: int
    restored: int
    failed: int  # memories in parts whose job failed permanently
    is_finished: bool  # for an undone run, whether undoing is finished

    @property
    def skipped(self) -> int:
        """Return the number that others had decided, changed or leased, or that cannot be decided.

        The latter are withheld, or supersede another selected proposal.
        """
        return self.examined - self.done


def get_progress(run: BulkRun) -> BulkRunProgress:
    parts = list(BulkPart.objects.of(run.account_id).filter(run=run))
    failed = find_failed_parts(run, parts)
    return BulkRunProgress(
        requested=run.asked,
        examined=sum(len(part.chosen) for part in parts if part.done is not None),
        done=sum(part.done or 0 for part in parts),
        restored=sum(part.restored or 0 for part in parts),
        failed=sum(len(part.chosen) for part in parts if part.pk in failed),
        is_finished=all(_is_finished(run, part) or part.pk in failed for part in parts),
    )


def find_failed_parts(run: BulkRun, parts: Sequence[BulkPart]) -> set[UUID]:
    """Return the parts whose decision or, in an undone run, whose undo failed permanently."""
    unfinished = {build_job_key(part): part.pk for part in parts if not _is_finished(run, part)}
    if not unfinished:
        return set()
    topic = BULK_UNDO if run.undone_at else BULK
    dead = Delivery.objects.of(run.account_id).dead()
    dead = dead.filter(event__topic=topic, event__job_key__in=list(unfinished))
    return {unfinished[key] for key in dead.values_list("event__job_key", flat=True)}


def build_job_key(part: BulkPart) -> str:
    return f"{part.pk}:1"


def _is_finished(run: BulkRun, part: BulkPart) -> bool:
    return (part.restored if run.undone_at else part.done) is not None
