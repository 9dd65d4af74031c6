"""Erasing memories for good. What they said leaves every table; that they were there stays proven.

Counted first: the count comes with a ticket, and only who holds it erases what was counted.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import CASCADE
from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account, AccountQuerySet, SealedModel
from kmapp.accounts.personal_data import count_personal_data, erase_copies
from kmapp.accounts.redacted_text import redact_text
from kmapp.api.models import IdempotentRequest
from kmapp.errors import Conflict, Invalid, NotFound
from kmapp.ledger.actions import Recording, recording
from kmapp.ledger.models import Note, Seal
from kmapp.outbox.actions import silence_errors
from kmapp.search.actions import drop_documents, drop_vectors
from kmapp.search.lookups import Ids
from kmapp.search.models import Vector
from memory.actions.confirmation_tickets import Confirmation
from memory.actions.enqueue import enqueue_ordering
from memory.actions.personal_data import forget_people
from memory.models import (
    BulkPart,
    BulkRun,
    EntryQuerySet,
    ErasedEntry,
    Extraction,
    MemoryEdge,
    MemoryEntry,
    MemoryVersion,
)
from memory.models.entries import COLLECTION, CONTEXT_COLLECTION
from memory.models.entry_input import derive_entry_id
from memory.retrieval.run_order import neighbours

MAX_ENTRIES = 5_000  # memories at a time: one commit names them all
NAMED = 20  # commits that an erased memory is still known by
OPERATION = "memory.erase"
Event = MemoryVersion.Event


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasurePreview:
    """What an erasure would take, counted."""

    memories: int
    versions: int
    edges: int
    vectors: int
    stored_responses: int
    notes: int  # inputs and reasons of commits
    shared: int  # other memories that were written in one of these commits
    personal_records: int  # what other apps keep of people of whom no memory is left
    ticket: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureResult:
    """What was erased, and the commit that says so."""

    memories: int
    commit_id: UUID


def preview_erasure(
    account_id: UUID, rows: EntryQuerySet, actor: Actor, *, person: str = ""
) -> ErasurePreview:
    """Count what these memories have left in the account. Changes nothing.

    With `person` the rows are all of one person's: then there need not be any.
    """
    elsewhere = count_personal_data(account_id, [person] if person else [])
    ids = _ids(rows, may_be_none=elsewhere > 0)
    people = {*rows.values_list("user_id", flat=True).distinct()} - {""}
    if people and not person:
        elsewhere = count_personal_data(account_id, people - _staying(account_id, people, ids))
    everything = _Traces(account_id, ids)
    return ErasurePreview(
        memories=len(ids),
        versions=everything.versions.count(),
        edges=everything.edges.count(),
        vectors=everything.vectors.count(),
        stored_responses=everything.answers.count(),
        notes=everything.notes.exclude(salt=None).count(),
        shared=everything.siblings.values("entry_id").distinct().count(),
        personal_records=elsewhere,
        ticket=_counted(account_id, actor, ids, person).ticket,
    )


def erase_entries(
    account_id: UUID,
    rows: EntryQuerySet,
    actor: Actor,
    *,
    ticket: str,
    reason: str = "",
    person: str = "",
) -> ErasureResult:
    """Erase what was counted, in one commit. There is no way back."""
    ids = _ids(rows, may_be_none=bool(person and count_personal_data(account_id, [person])))
    _counted(account_id, actor, ids, person).verify(ticket)
    after = _successors(account_id, ids)
    held = MemoryEntry.objects.of(account_id).filter(pk__in={*ids, *after}).order_by("pk")
    entries = {row.pk: row for row in held.select_for_update(no_key=True)}
    if not entries.keys() >= {*ids}:
        raise Conflict(
            _("Someone else erased some of these memories. Count again."), code="count_changed"
        )
    gone = [entries[pk] for pk in ids]
    stored_reason = redact_text(reason, Account.objects.get(pk=account_id).redact) if reason else ""
    with recording(account_id, actor, input={"erased": len(ids)}, reason=stored_reason) as commit:
        _mark(account_id, gone, commit)
        _remove(account_id, ids, commit)
        forget_people(account_id, {person, *(row.user_id for row in gone)}, commit)
        if not commit.diff:  # of a person who had nothing but records
            commit.erase("memory.person", commit.id)
        # What a vector was made of can be guessed from it: these held the text that came before.
        drop_vectors(account_id, [CONTEXT_COLLECTION], list(after))
        enqueue_ordering(account_id, [entries[pk] for pk in after if pk in entries], commit.id)
    return ErasureResult(memories=len(ids), commit_id=commit.id)


class _Traces:
    """The rows that hold something of these memories, beside the memories themselves."""

    def __init__(self, account_id: UUID, ids: Sequence[UUID]) -> None:
        these = Ids(ids)
        self.hanging = _hanging(account_id, ids)
        named = [*ids, *(row.pk for row in self.hanging)]
        self.versions = MemoryVersion.objects.of(account_id).filter(entry__any_of=these)
        edges = MemoryEdge.objects.of(account_id)
        self.edges = edges.filter(src__any_of=these) | edges.filter(dst__any_of=these)
        self.vectors = Vector.objects.of(account_id).filter(
            collection__in=[COLLECTION, CONTEXT_COLLECTION], object_id__any_of=these
        )
        self.answers = IdempotentRequest.objects.of(account_id).naming(named)
        seals = Seal.objects.of(account_id).filter(object_id__any_of=Ids(named))
        self.runs = BulkRun.objects.of(account_id).affecting(ids)
        parts = BulkPart.objects.of(account_id).filter(run__in=self.runs, done__gt=0)
        # A run gives its reason in each of its commits, whichever of them named these.
        commits = seals.values("commit_id").union(parts.values("decided_in"))
        self.notes = Note.objects.of(account_id).filter(commit_id__in=commits)
        written = MemoryVersion.objects.of(account_id).filter(commit_id__in=commits)
        self.siblings = written.exclude(entry__any_of=these)


def _staying(account_id: UUID, people: Collection[str], ids: Sequence[UUID]) -> set[str]:
    """Those of whom there are other memories."""
    others = MemoryEntry.objects.of(account_id).filter(user_id__in=people)
    others = others.exclude(id__any_of=Ids(ids))
    return {*others.values_list("user_id", flat=True).distinct()}


def _ids(rows: EntryQuerySet, *, may_be_none: bool) -> list[UUID]:
    ids = list(rows.order_by("pk").values_list("pk", flat=True)[: MAX_ENTRIES + 1])
    if not ids and not may_be_none:
        raise NotFound(_("Memory not found."))
    if len(ids) > MAX_ENTRIES:
        raise Invalid(
            _(
                "More than %(most)d memories are selected. Narrow the selection and erase them "
                "in batches."
            )
            % {"most": MAX_ENTRIES},
            code="too_many",
        )
    return ids


def _counted(account_id: UUID, actor: Actor, ids: Sequence[UUID], person: str) -> Confirmation:
    return Confirmation(
        operation=OPERATION, account_id=account_id, actor=actor, ids=ids, person=person
    )


def _successors(account_id: UUID, ids: Collection[UUID]) -> set[UUID]:
    """Entries whose vector in context was made together with one of these."""
    drawn = MemoryEdge.objects.of(account_id).filter(
        src__any_of=Ids(ids), type=MemoryEdge.Type.NEXT
    )
    affected = {row.after_id for row in neighbours(account_id, list(ids)) if row.after_id}
    return {*affected, *drawn.values_list("dst_id", flat=True)} - {*ids}


def _mark(account_id: UUID, gone: Sequence[MemoryEntry], commit: Recording) -> None:
    """Their ids stay taken; also the id that a client id stands for, where it was another one."""
    reserved_ids = {entry.pk for entry in gone}
    reserved_ids |= {
        derive_entry_id(account_id, row.scope, row.client_id) for row in gone if row.client_id
    }
    now, before = timezone.now(), _commits_of(account_id, [row.pk for row in gone])
    ErasedEntry.objects.bulk_create(
        [ErasedEntry(id=pk, account_id=account_id, erased_at=now, commit_id=commit.id,
                     commits=before[pk])
         for pk in sorted(reserved_ids)],
        ignore_conflicts=True,  # a client id whose first memory was erased before
        batch_size=500,
    )  # fmt: skip
    for entry in gone:
        commit.erase(MemoryEntry._meta.label_lower, entry.pk)


def _commits_of(account_id: UUID, ids: Sequence[UUID]) -> dict[UUID, list[UUID]]:
    """Return the first commit that sealed each of these objects."""
    seals = Seal.objects.of(account_id).filter(
        object_type=MemoryEntry._meta.label_lower, object_id__any_of=Ids(ids)
    )
    affected = defaultdict[UUID, list[UUID]](list)
    for pk, commit in seals.order_by("commit_id").values_list("object_id", "commit_id"):
        if len(affected[pk]) < NAMED:
            affected[pk].append(commit)
    return affected


def _remove(account_id: UUID, ids: Sequence[UUID], commit: Recording) -> None:
    everything = _Traces(account_id, ids)
    # What is read through the seals goes first: the commit forgets the salts when it is written.
    everything.siblings.update(reason="")
    everything.notes.update(salt=None, input=None, reason="")
    for row in everything.hanging:
        commit.erase(row._meta.label_lower, row.pk)
    everything.answers.forget()
    silence_errors(account_id, ids)
    everything.runs.update(reason="")
    Extraction.objects.of(account_id).filter(memories__overlap=list(ids)).delete()
    drop_documents(account_id, [COLLECTION], ids)
    everything.vectors.delete()
    erase_copies(account_id, ids)
    MemoryEntry.objects.of(account_id).filter(id__any_of=Ids(ids)).delete()


def _hanging(account_id: UUID, ids: Sequence[UUID]) -> list[SealedModel]:
    """Sealed rows of other tables that go with these memories: edges, and what is added later."""
    affected: dict[UUID, SealedModel] = {}
    for relation in MemoryEntry._meta.related_objects:
        model = relation.related_model
        if relation.on_delete is CASCADE and issubclass(model, SealedModel):
            named = {f"{relation.field.name}__any_of": Ids(ids)}
            rows: AccountQuerySet[SealedModel] = (
                AccountQuerySet(model).of(account_id).filter(**named)
            )
            affected |= {row.pk: row for row in rows.exclude(commit=None)}
    return list(affected.values())
