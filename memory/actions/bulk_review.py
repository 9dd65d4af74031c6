"""One decision about many memories: in the request, or by workers if there are many.

Each part is decided, and undone, in one commit. The parts of an interrupted run hold its progress.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import F, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.accounts.pii_redaction import redact_reason
from kmapp.errors import Conflict, Invalid, NotFound
from kmapp.ledger.actions import recording
from kmapp.ledger.read_verification import withhold_mismatches
from kmapp.outbox.publish import NewJob, publish
from memory.actions import review
from memory.actions.bulk_progress import build_job_key, find_failed_parts
from memory.actions.confirmation_tickets import Confirmation
from memory.actions.entry_locks import lock_entries
from memory.actions.follow_up_jobs import BULK, BULK_UNDO
from memory.actions.review import Decision
from memory.actions.review_leases import leased_by_other
from memory.actions.write_entries import needs_review
from memory.models import (
    BulkPart,
    BulkRun,
    EntryQuerySet,
    MemoryEdge,
    MemoryEntry,
    MemorySettings,
    MemoryVersion,
)
from memory.review.replaced_memories import find_replaced, find_replaced_by_proposal

PART_SIZE = 200
MAX_FORGOTTEN = 50_000  # memories in one run
FORGET_OPERATION = "memory.forget"  # of a confirmation ticket
EntryVersion = tuple[UUID, int]  # a memory and its selected version
Operation = BulkRun.Operation
# The function of each operation, and the statuses in which it is allowed.
OPERATIONS = {
    Operation.APPROVE: (review.approve, {MemoryEntry.Status.PROPOSED}),
    Operation.REJECT: (review.reject, {MemoryEntry.Status.PROPOSED}),
    Operation.FORGET: (review.forget, review.FORGETTABLE),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedRun:
    """A run, and the events that report the progress of its parts; none if it is finished."""

    run: BulkRun
    events: Sequence[UUID] = ()


def start_run(
    account_id: UUID,
    actor: Actor,
    operation: BulkRun.Operation,
    chosen: Sequence[EntryVersion],
    reason: str,
) -> StartedRun:
    """Apply one decision to these memories, except those that changed since the selection."""
    run = BulkRun.objects.create(
        account_id=account_id,
        deed=operation,
        actor=str(actor),
        reason=redact_reason(account_id, reason),
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
        part = _lock_part(account_id, part_id)
        if part and part.done is None and not part.run.undone_at:
            _decide(part.run, part)


def undo_run(account_id: UUID, run_id: UUID, actor: Actor) -> BulkRun:
    """Undo a run, except for memories that changed since. Parts that failed stay undecided."""
    run = BulkRun.objects.of(account_id).select_for_update().get(pk=run_id)
    parts = list(BulkPart.objects.of(account_id).filter(run=run).order_by("number"))
    if run.undone_at:
        raise Conflict(_("This was already undone."), code="undone")
    failed = find_failed_parts(run, parts)
    if any(part.done is None and part.pk not in failed for part in parts):
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
        part = _lock_part(account_id, part_id)
        if part and part.restored is None and part.run.undone_at:
            _restore(part.run, part)


def _enqueue_parts(account_id: UUID, topic: str, parts: Sequence[BulkPart]) -> list[UUID]:
    new_jobs = [
        NewJob(job_key=build_job_key(part), payload={"part": str(part.pk)}) for part in parts
    ]
    events = publish(account_id, topic, new_jobs)
    return [events[new_job.job_key] for new_job in new_jobs]


def _lock_part(account_id: UUID, part_id: UUID) -> BulkPart | None:
    rows = BulkPart.objects.of(account_id).select_for_update(of=("self",))
    return rows.select_related("run").filter(pk=part_id).first()


def _decide(run: BulkRun, part: BulkPart) -> None:
    """Apply the decision to those memories that did not change and that no one else has leased."""
    account_id, actor = run.account_id, Actor.parse(run.actor)
    operation, statuses = OPERATIONS[Operation(run.deed)]
    chosen = {UUID(pk): version for pk, version in part.chosen}
    if run.deed == Operation.APPROVE:
        lock_entries(account_id, {*chosen, *find_replaced(account_id, list(chosen))})
    with recording(
        account_id, actor, input={review.BULK_INPUT: str(run.pk)}, reason=run.reason
    ) as commit:
        rows = MemoryEntry.objects.of(account_id).filter(pk__in=chosen, status__in=statuses)
        free = rows.filter(~leased_by_other(run.actor)).order_by("pk")
        locked = free.with_verify_on_read(account_id).select_for_update(no_key=True, of=("self",))
        unchanged = [entry for entry in locked if entry.version == chosen[entry.pk]]
        decided = withhold_mismatches(account_id, unchanged)  # the others cannot be changed
        if run.deed == Operation.APPROVE:
            decided = _exclude_withheld_replaced(account_id, decided)
            decided = _exclude_superseding_selected(run, decided)
        for entry in decided:
            operation(Decision.about(entry, actor, run.reason), commit=commit)
    part.done, part.decided_in = len(decided), commit.id if decided else None
    part.save(update_fields=["done", "decided_in"])


def _list_sealed(account_id: UUID, ids: Iterable[UUID]) -> list[MemoryEntry]:
    """Return these memories, except those that differ from their seal."""
    rows = MemoryEntry.objects.of(account_id).filter(pk__in=list(ids)).order_by("pk")
    return withhold_mismatches(account_id, list(rows.with_verify_on_read(account_id)))


def _exclude_withheld_replaced(
    account_id: UUID, proposals: Sequence[MemoryEntry]
) -> list[MemoryEntry]:
    """Return the proposals whose approval supersedes no memory that differs from its seal."""
    replaced = find_replaced_by_proposal(account_id, [entry.pk for entry in proposals])
    replaced_ids = {pk for ids in replaced.values() for pk in ids}
    withheld = replaced_ids - {entry.pk for entry in _list_sealed(account_id, replaced_ids)}
    return [entry for entry in proposals if withheld.isdisjoint(replaced.get(entry.pk, ()))]


def _exclude_superseding_selected(
    run: BulkRun, proposals: Sequence[MemoryEntry]
) -> list[MemoryEntry]:
    """Return the proposals that supersede none of those that the run approves.

    A commit seals a memory once, so it cannot both approve a proposal and supersede it, and two
    commits could not be undone together. After the run, the others supersede active memories and
    can be approved.
    """
    replaced = find_replaced_by_proposal(run.account_id, [entry.pk for entry in proposals])
    if not replaced:
        return list(proposals)
    parts = BulkPart.objects.of(run.account_id).filter(run=run).values_list("chosen", flat=True)
    selected = {UUID(pk) for chosen in parts for pk, _version in chosen}
    return [entry for entry in proposals if selected.isdisjoint(replaced.get(entry.pk, ()))]


def _restore(run: BulkRun, part: BulkPart) -> None:
    """Restore the previous version of the memories whose latest version this run created."""
    account_id, actor = run.account_id, Actor.parse(run.undone_by)
    decision = Decision(account_id=account_id, entry_id=run.pk, actor=actor)
    restored: list[MemoryEntry] = []
    if part.decided_in:
        versions = MemoryVersion.objects.of(account_id).filter(
            commit_id=part.decided_in, version__gt=1
        )
        restorable = versions.filter(entry__in=_list_restorable(account_id, versions))
        with recording(account_id, actor, input={review.BULK_INPUT: str(run.pk)}) as commit:
            restored = review.undo_versions(decision, restorable, commit)
    chosen = {UUID(pk) for pk, _version in part.chosen}  # not what their approval superseded
    part.restored = sum(entry.pk in chosen for entry in restored)
    part.save(update_fields=["restored"])


def _list_restorable(account_id: UUID, versions: QuerySet[MemoryVersion]) -> set[UUID]:
    """Return the memories that have not changed since these versions, without halves of pairs.

    A proposal and the memory that its approval superseded are restored together: otherwise agents
    would recall both of them, or neither.
    """
    unchanged = versions.filter(entry__version=F("version")).values_list("entry_id", flat=True)
    ids = {entry.pk for entry in _list_sealed(account_id, unchanged)}
    superseded = versions.filter(event=MemoryVersion.Event.SUPERSEDE).values("entry_id")
    edges = MemoryEdge.objects.of(account_id).filter(
        type=MemoryEdge.Type.SUPERSEDES, src__in=versions.values("entry_id"), dst__in=superseded
    )
    pairs = list(edges.values_list("src_id", "dst_id"))
    while halves := ids & {pk for pair in pairs if not ids.issuperset(pair) for pk in pair}:
        ids -= halves
    return ids


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgetPreview:
    memories: int
    ticket: str  # empty if there are none


def preview_forget(account_id: UUID, rows: EntryQuerySet, actor: Actor) -> ForgetPreview:
    chosen = _select_forgettable(rows)
    confirmation = Confirmation(FORGET_OPERATION, account_id, actor, [pk for pk, _ in chosen])
    return ForgetPreview(memories=len(chosen), ticket=confirmation.ticket if chosen else "")


def forget_entries(
    account_id: UUID, rows: EntryQuerySet, actor: Actor, *, ticket: str, reason: str = ""
) -> StartedRun:
    """Forget the counted memories: now, or by workers if there are many."""
    chosen = _select_forgettable(rows)
    Confirmation(FORGET_OPERATION, account_id, actor, [pk for pk, _ in chosen]).verify(ticket)
    if not chosen:
        raise NotFound(_("Memory not found."))
    return start_run(account_id, actor, Operation.FORGET, chosen, reason)


def requiring_review(account_id: UUID, actor: Actor, rows: EntryQuerySet) -> EntryQuerySet:
    """Return those account-wide memories that only a person may forget."""
    settings = MemorySettings.objects.get_or_default(account_id)
    shared = MemoryEntry.Visibility.ACCOUNT
    kinds = [
        kind for kind in MemoryEntry.Kind.values if needs_review(settings, actor, shared, kind)
    ]
    return rows.filter(status=MemoryEntry.Status.ACTIVE, visibility=shared, kind__in=kinds)


def _select_forgettable(rows: EntryQuerySet) -> list[EntryVersion]:
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
