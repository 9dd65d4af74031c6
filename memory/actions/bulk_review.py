"""One decision about many memories: at once, or by workers if there are many.

Each part is one commit, and so is undoing it. A run that was interrupted shows how far it is.
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
from kmapp.errors import Conflict, Invalid, NotFound
from kmapp.ledger.actions import recording
from kmapp.outbox.actions import Task, publish
from memory.actions import review
from memory.actions.confirmation_tickets import Confirmation
from memory.actions.enqueue import BULK, BULK_UNDO
from memory.actions.entries import needs_review
from memory.actions.leases import leased_by_other
from memory.actions.review import Decision
from memory.models import (
    BulkPart,
    BulkRun,
    EntryQuerySet,
    MemoryEntry,
    MemorySettings,
    MemoryVersion,
)

PART_SIZE = 200
MAX_FORGOTTEN = 50_000  # memories in one run
FORGET_OPERATION = "memory.forget"  # of a confirmation ticket
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
    """A run, and the events that report the progress of its parts; none if it is finished."""

    run: BulkRun
    events: Sequence[UUID] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Progress of a run, in memories."""

    requested: int
    examined: int
    done: int
    restored: int
    is_finished: bool  # and so is undoing it, if it is undone

    @property
    def skipped(self) -> int:
        """Return how many were decided, changed or leased by others before."""
        return self.examined - self.done


def start_run(
    account_id: UUID,
    actor: Actor,
    operation: BulkRun.Operation,
    chosen: Sequence[EntryVersion],
    reason: str,
) -> StartedRun:
    """Apply one decision to these memories, except those that changed since they were chosen."""
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
    """Undo a run, except where memories changed since."""
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
    """Lock and return those that did not change and that no other person has leased."""
    rows = MemoryEntry.objects.of(run.account_id).filter(pk__in=chosen)
    free = rows.filter(~leased_by_other(run.actor), status__in=WHEN[Operation(run.deed)])
    held = free.select_for_update(no_key=True, of=("self",)).order_by("pk")
    return [entry for entry in held if entry.version == chosen[entry.pk]]


def _restore(run: BulkRun, part: BulkPart) -> None:
    """Restore the previous version where this run made the latest one."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetPreview:
    """How many memories would be forgotten. Without any there is no ticket."""

    memories: int
    ticket: str


def preview_forget(account_id: UUID, rows: EntryQuerySet, actor: Actor) -> ForgetPreview:
    """Count which of these can be forgotten, and change nothing."""
    chosen = _chosen(rows)
    counted = _counted(account_id, actor, chosen)
    return ForgetPreview(memories=len(chosen), ticket=counted.ticket if chosen else "")


def forget_entries(
    account_id: UUID, rows: EntryQuerySet, actor: Actor, *, ticket: str, reason: str = ""
) -> StartedRun:
    """Forget what was counted: at once, or by workers if there are many."""
    chosen = _chosen(rows)
    _counted(account_id, actor, chosen).verify(ticket)
    if not chosen:
        raise NotFound(_("Memory not found."))
    return start_run(account_id, actor, Operation.FORGET, chosen, reason)


def requiring_review(account_id: UUID, actor: Actor, rows: EntryQuerySet) -> EntryQuerySet:
    """Return the account-wide ones that only a person may forget."""
    settings = MemorySettings.objects.get_or_default(account_id)
    shared = MemoryEntry.Visibility.ACCOUNT
    kinds = [
        kind for kind in MemoryEntry.Kind.values if needs_review(settings, actor, shared, kind)
    ]
    return rows.filter(status=MemoryEntry.Status.ACTIVE, visibility=shared, kind__in=kinds)


def _chosen(rows: EntryQuerySet) -> list[EntryVersion]:
    forgettable = rows.filter(status__in=review.FORGETTABLE).order_by("pk")
    chosen = list(forgettable.values_list("pk", "version")[: MAX_FORGOTTEN + 1])
    if len(chosen) > MAX_FORGOTTEN:
        raise Invalid(
            _(
                "More than %(most)d memories are selected. Narrow the selection and forget them "
                "in batches."
            )
            % {"most": MAX_FORGOTTEN},
            code="too_many",
        )
    return chosen


def _counted(account_id: UUID, actor: Actor, chosen: Sequence[EntryVersion]) -> Confirmation:
    ids = [pk for pk, _version in chosen]
    return Confirmation(operation=FORGET_OPERATION, account_id=account_id, actor=actor, ids=ids)
