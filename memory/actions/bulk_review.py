"""One decision about many memories: at once, or by workers where they are many.

Each part is one commit, so a run that stops half way is half done and says so; and taking it back
is one commit for each.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account
from kmapp.accounts.redacted_text import redact_text
from kmapp.errors import Conflict
from kmapp.ledger.actions import recording
from kmapp.outbox.actions import Task, publish
from memory.actions import review
from memory.actions.enqueue import BULK, BULK_UNDO
from memory.actions.leases import leased_by_other
from memory.actions.review import Decision
from memory.models import BulkPart, BulkRun, MemoryEntry, MemoryVersion

PART_SIZE = 200
EntryVersion = tuple[UUID, int]  # a memory, and the version of it that was chosen
Operation = BulkRun.Operation

VERBS = {
    Operation.APPROVE: review.approve,
    Operation.REJECT: review.reject,
    Operation.FORGET: review.forget,
}
WAITING = frozenset({MemoryEntry.Status.PROPOSED})
WHEN = {Operation.APPROVE: WAITING, Operation.REJECT: WAITING, Operation.FORGET: review.FORGETTABLE}


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedRun:
    """A run, and the events that will tell when its parts are done; none if it is done."""

    run: BulkRun
    events: Sequence[UUID] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a run is."""

    requested: int
    examined: int
    done: int
    restored: int
    is_finished: bool  # nothing of it, and of taking it back, is still to do

    @property
    def skipped(self) -> int:
        """Decided, changed or in a colleague's hand when their turn came."""
        return self.examined - self.done


def start_run(
    account_id: UUID,
    actor: Actor,
    operation: BulkRun.Operation,
    chosen: Sequence[EntryVersion],
    reason: str,
) -> StartedRun:
    """Decide the same about all of these; what changed since it was chosen is left alone."""
    stored_reason = redact_text(reason, Account.objects.get(pk=account_id).redact) if reason else ""
    run = BulkRun.objects.create(
        account_id=account_id,
        deed=operation,
        actor=str(actor),
        reason=stored_reason,
        asked=len(chosen),
        created_at=timezone.now(),
    )
    parts = [
        BulkPart(
            account_id=account_id,
            run=run,
            number=number,
            chosen=[[str(pk), version] for pk, version in chosen[at : at + PART_SIZE]],
        )
        for number, at in enumerate(range(0, len(chosen), PART_SIZE), start=1)
    ]
    BulkPart.objects.bulk_create(parts)
    if len(parts) == 1:
        _decide(run, parts[0])
        return StartedRun(run=run)
    return StartedRun(run=run, events=_enqueue_parts(account_id, BULK, parts))


def run_part(account_id: UUID, part_id: UUID) -> None:
    with acting(account_id):
        part = _held(account_id, part_id)
        if part and part.done is None:
            _decide(part.run, part)


def undo_run(account_id: UUID, run_id: UUID, actor: Actor) -> BulkRun:
    """Take a whole run back. What was changed since stays as it was left."""
    run = BulkRun.objects.of(account_id).select_for_update().get(pk=run_id)
    parts = list(BulkPart.objects.of(account_id).filter(run=run).order_by("number"))
    if run.undone_at:
        raise Conflict(_("This was already undone."), code="undone")
    if any(part.done is None for part in parts):
        raise Conflict(
            _("This operation is still running. Wait until it finishes, then undo it."), code="runs"
        )
    run.undone_at, run.undone_by = timezone.now(), str(actor)
    run.save(update_fields=["undone_at", "undone_by"])
    if len(parts) == 1:
        _restore(run, parts[0])
    else:
        _enqueue_parts(account_id, BULK_UNDO, parts)
    return run


def undo_part(account_id: UUID, part_id: UUID) -> None:
    with acting(account_id):
        part = _held(account_id, part_id)
        if part and part.restored is None and part.run.undone_at:
            _restore(part.run, part)


def get_progress(run: BulkRun) -> Progress:
    parts = list(BulkPart.objects.of(run.account_id).filter(run=run))
    over = all(part.done is not None for part in parts)
    if run.undone_at:
        over = over and all(part.restored is not None for part in parts)
    return Progress(
        requested=run.asked,
        examined=sum(len(part.chosen) for part in parts if part.done is not None),
        done=sum(part.done or 0 for part in parts),
        restored=sum(part.restored or 0 for part in parts),
        is_finished=over,
    )


def _enqueue_parts(account_id: UUID, topic: str, parts: Sequence[BulkPart]) -> list[UUID]:
    tasks = [Task(job_key=f"{part.pk}:1", payload={"part": str(part.pk)}) for part in parts]
    events = publish(account_id, topic, tasks)
    return [events[task.job_key] for task in tasks]


def _held(account_id: UUID, part_id: UUID) -> BulkPart | None:
    rows = BulkPart.objects.of(account_id).select_for_update(of=("self",))
    return rows.select_related("run").filter(pk=part_id).first()


def _decide(run: BulkRun, part: BulkPart) -> None:
    actor = Actor.parse(run.actor)
    with recording(
        run.account_id, actor, input={review.BULK_INPUT: str(run.pk)}, reason=run.reason
    ) as commit:
        free = _free(run, {UUID(pk): version for pk, version in part.chosen})
        for entry in free:
            decision = Decision(
                account_id=run.account_id,
                entry_id=entry.pk,
                actor=actor,
                version=entry.version,
                reason=run.reason,
            )
            VERBS[Operation(run.deed)](decision, commit=commit)
    part.done, part.decided_in = len(free), commit.id if free else None
    part.save(update_fields=["done", "decided_in"])


def _free(run: BulkRun, chosen: Mapping[UUID, int]) -> list[MemoryEntry]:
    """Those that still are as they were chosen, in nobody else's hand. Held until it is done."""
    rows = MemoryEntry.objects.of(run.account_id).filter(pk__in=chosen)
    free = rows.filter(~leased_by_other(run.actor), status__in=WHEN[Operation(run.deed)])
    held = free.select_for_update(no_key=True, of=("self",)).order_by("pk")
    return [entry for entry in held if entry.version == chosen[entry.pk]]


def _restore(run: BulkRun, part: BulkPart) -> None:
    """Back to what they were, where this run's change is still the latest."""
    actor = Actor.parse(run.undone_by)
    decision = Decision(account_id=run.account_id, entry_id=run.pk, actor=actor)
    restored: list[MemoryEntry] = []
    if part.decided_in:
        new_versions = MemoryVersion.objects.of(run.account_id).filter(
            commit_id=part.decided_in, version__gt=1, entry__version=F("version")
        )
        with recording(run.account_id, actor, input={review.BULK_INPUT: str(run.pk)}) as commit:
            restored = review.undo_versions(decision, new_versions, commit)
    part.restored = len(restored)
    part.save(update_fields=["restored"])
