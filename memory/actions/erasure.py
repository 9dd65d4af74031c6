"""Erasure of memories. Every table loses their text; the ledger still proves that they existed.

A preview counts them and returns a ticket, which is required to erase exactly these memories.
"""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import CASCADE, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.accounts.actors import Actor
from kmapp.accounts.erasure_registry import count_personal_data, erase_copies, erase_personal_data
from kmapp.accounts.models import AccountQuerySet, SealedModel
from kmapp.accounts.pii_redaction import redact_reason
from kmapp.api.models import IdempotentRequest
from kmapp.database.combined_counts import count_querysets
from kmapp.errors import Conflict, Invalid, NotFound
from kmapp.ledger.actions import Recording, recording
from kmapp.ledger.models import Note, Seal
from kmapp.notifications.webhooks.actions import report_changes
from kmapp.outbox.failed_deliveries import clear_error_messages
from kmapp.search.id_array_lookup import IdArray
from kmapp.search.models import Vector
from kmapp.search.vector_storage import drop_vectors
from kmapp.search.word_index import remove_documents
from memory.actions.confirmation_tickets import Confirmation
from memory.actions.follow_up_jobs import WEBHOOK_SOURCE, enqueue_ordering
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
from memory.retrieval.run_neighbours import load_neighbours

MAX_ENTRIES = 5_000  # memories at a time, since one commit names them all
MAX_COMMITS = 20  # commits that are stored for an erased memory
OPERATION = "memory.erase"


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasurePreview:
    memories: int
    versions: int
    edges: int
    vectors: int
    stored_responses: int
    notes: int  # inputs and reasons of commits
    shared: int  # other memories that were written in one of these commits
    personal_records: int  # besides memories, about people without other memories
    ticket: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ErasureResult:
    memories: int
    commit_id: UUID


def preview_erasure(
    account_id: UUID, rows: EntryQuerySet, actor: Actor, *, person: str = ""
) -> ErasurePreview:
    """Count the rows of these memories in the account, and change nothing.

    With `person`, the rows are all memories of one person, and may be none.
    """
    elsewhere = count_personal_data(account_id, [person] if person else [])
    ids = _select_ids(rows, may_be_none=elsewhere > 0)
    people = {*rows.values_list("user_id", flat=True).distinct()} - {""}
    if people and not person:
        others = MemoryEntry.objects.of(account_id).filter(user_id__in=people)
        others = others.exclude(id__any_of=IdArray(ids))
        people -= {*others.values_list("user_id", flat=True).distinct()}
        elsewhere = count_personal_data(account_id, people)
    dependent = _DependentRows(account_id, ids)
    counted: dict[str, QuerySet[Any, Any]] = {
        "versions": dependent.versions,
        "edges": dependent.edges,
        "vectors": dependent.vectors,
        "stored_responses": dependent.responses,
        "notes": dependent.notes.exclude(salt=None),
        "shared": dependent.siblings.values("entry_id").distinct(),
    }
    return ErasurePreview(
        **count_querysets(counted),
        memories=len(ids),
        personal_records=elsewhere,
        ticket=Confirmation(OPERATION, account_id, actor, ids, person).ticket,
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
    """Erase the counted memories in one commit. This cannot be undone."""
    ids = _select_ids(rows, may_be_none=bool(person and count_personal_data(account_id, [person])))
    Confirmation(OPERATION, account_id, actor, ids, person).verify(ticket)
    after = _find_successors(account_id, ids)
    affected = MemoryEntry.objects.of(account_id).filter(pk__in={*ids, *after}).order_by("pk")
    entries = {row.pk: row for row in affected.select_for_update(no_key=True)}
    if not entries.keys() >= {*ids}:
        raise Conflict(
            _("Someone else erased some of these memories. Count again."), code="count_changed"
        )
    erased = [entries[pk] for pk in ids]
    people = {person, *(row.user_id for row in erased)}
    _lock_extractions(account_id, ids, people)
    stored_reason = redact_reason(account_id, reason)
    with recording(account_id, actor, input={"erased": len(ids)}, reason=stored_reason) as commit:
        _reserve_ids(account_id, erased, commit)
        _delete_rows(account_id, ids, commit)
        _erase_people(account_id, people, commit)
        if not commit.diff:  # the person has only records outside the ledger
            commit.erase("memory.person", commit.id)
        # These vectors include erased text of the predecessor, which could be guessed from them.
        drop_vectors(account_id, [CONTEXT_COLLECTION], list(after))
        enqueue_ordering(account_id, [entries[pk] for pk in after if pk in entries], commit.id)
        active = [row.pk for row in erased if row.status == MemoryEntry.Status.ACTIVE]
        report_changes(account_id, WEBHOOK_SOURCE, active)
    return ErasureResult(memories=len(ids), commit_id=commit.id)


class _DependentRows:
    """Rows of other tables with data of these memories."""

    def __init__(self, account_id: UUID, ids: Sequence[UUID]) -> None:
        these = IdArray(ids)
        self.sealed = _sealed_rows(account_id, ids)
        named = [*ids, *(row.pk for row in self.sealed)]
        self.versions = MemoryVersion.objects.of(account_id).filter(entry__any_of=these)
        edges = MemoryEdge.objects.of(account_id)
        self.edges = edges.filter(src__any_of=these) | edges.filter(dst__any_of=these)
        self.vectors = Vector.objects.of(account_id).filter(
            collection__in=[COLLECTION, CONTEXT_COLLECTION], object_id__any_of=these
        )
        self.responses = IdempotentRequest.objects.of(account_id).naming(named)
        seals = Seal.objects.of(account_id).filter(object_id__any_of=IdArray(named))
        self.runs = BulkRun.objects.of(account_id).affecting(ids)
        parts = BulkPart.objects.of(account_id).filter(run__in=self.runs, done__gt=0)
        # All commits of a bulk run store its reason, also those that changed other memories.
        commits = seals.values("commit_id").union(parts.values("decided_in"))
        self.notes = Note.objects.of(account_id).filter(commit_id__in=commits)
        written = MemoryVersion.objects.of(account_id).filter(commit_id__in=commits)
        self.siblings = written.exclude(entry__any_of=these)


def _select_ids(rows: EntryQuerySet, *, may_be_none: bool) -> list[UUID]:
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


def _find_successors(account_id: UUID, ids: Collection[UUID]) -> set[UUID]:
    """Return entries whose vector in context includes the text of one of these."""
    edges = MemoryEdge.objects.of(account_id).filter(
        src__any_of=IdArray(ids), type=MemoryEdge.Type.NEXT
    )
    next_ids = {row.after_id for row in load_neighbours(account_id, list(ids)) if row.after_id}
    return {*next_ids, *edges.values_list("dst_id", flat=True)} - {*ids}


def _lock_extractions(account_id: UUID, ids: Sequence[UUID], people: Collection[str]) -> None:
    """Lock the extractions of these memories and people after the memories, as their jobs do."""
    extractions = Extraction.objects.of(account_id).filter(finished_at=None)
    affected = extractions.filter(memories__overlap=list(ids)) | extractions.filter(
        user_id__in={*people} - {""}
    )
    list(affected.order_by("pk").select_for_update().values_list("pk"))


def _reserve_ids(account_id: UUID, erased: Sequence[MemoryEntry], commit: Recording) -> None:
    """Store tombstones for the ids of these entries, and for those of their client ids."""
    label = MemoryEntry._meta.label_lower
    reserved_ids = {row.pk for row in erased}
    seals = Seal.objects.of(account_id).filter(
        object_type=label, object_id__any_of=IdArray(list(reserved_ids))
    )
    commits = defaultdict[UUID, list[UUID]](list)
    for pk, commit_id in seals.order_by("commit_id").values_list("object_id", "commit_id"):
        if len(commits[pk]) < MAX_COMMITS:
            commits[pk].append(commit_id)
    reserved_ids |= {
        derive_entry_id(account_id, row.scope, row.client_id) for row in erased if row.client_id
    }
    values = {"account_id": account_id, "erased_at": timezone.now(), "commit_id": commit.id}
    ErasedEntry.objects.bulk_create(
        [ErasedEntry(id=pk, commits=commits[pk], **values) for pk in sorted(reserved_ids)],
        ignore_conflicts=True,  # a client id whose first memory was erased before
        batch_size=500,
    )
    for row in erased:
        commit.erase(label, row.pk)


def _delete_rows(account_id: UUID, ids: Sequence[UUID], commit: Recording) -> None:
    clear_error_messages(account_id, ids)
    Extraction.objects.of(account_id).filter(memories__overlap=list(ids)).delete()
    remove_documents(account_id, [COLLECTION], ids)
    erase_copies(account_id, ids)
    entries = MemoryEntry.objects.of(account_id).filter(id__any_of=IdArray(ids))
    # From here on, nobody can add a row that is deleted with these entries, so that each is
    # recorded. The steps before take long, and writers of such rows would wait for them.
    list(entries.order_by("pk").select_for_update().values_list("pk"))
    dependent = _DependentRows(account_id, ids)
    # The rows that the seals lead to come first, since writing the commit deletes the seals.
    dependent.siblings.update(reason="")
    dependent.notes.update(salt=None, input=None, reason="")
    for row in dependent.sealed:
        commit.erase(row._meta.label_lower, row.pk)
    dependent.responses.erase_responses()
    dependent.runs.update(reason="")
    dependent.vectors.delete()
    entries.delete()


def _sealed_rows(account_id: UUID, ids: Sequence[UUID]) -> list[SealedModel]:
    """Return the sealed rows of other tables that are deleted with these memories."""
    affected: dict[UUID, SealedModel] = {}
    for relation in MemoryEntry._meta.related_objects:
        model = relation.related_model
        if relation.on_delete is CASCADE and issubclass(model, SealedModel):
            rows: AccountQuerySet[SealedModel] = AccountQuerySet(model).of(account_id)
            rows = rows.filter(**{f"{relation.field.name}__any_of": IdArray(ids)})
            affected |= {row.pk: row for row in rows.exclude(commit=None)}
    return list(affected.values())


def _erase_people(account_id: UUID, people: Collection[str], commit: Recording) -> None:
    """Erase what is stored under the ids of those people who have no memories any more."""
    remembered = MemoryEntry.objects.of(account_id).filter(user_id__in=people)
    erased = {*people} - {*remembered.values_list("user_id", flat=True).distinct()} - {""}
    erase_personal_data(account_id, erased, commit)
