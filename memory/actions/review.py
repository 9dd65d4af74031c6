"""Decisions of people about memories. Each creates a new version, so that it can be undone."""

from collections.abc import Collection, Container, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account
from kmapp.accounts.pii_redaction import redact_reason
from kmapp.errors import Conflict, NotFound
from kmapp.ledger.actions import Recording, recording
from kmapp.ledger.models import Note
from memory.actions.entry_locks import lock_entries, lock_entry, wrong_status_error
from memory.actions.record_versions import update_entry
from memory.models import MemoryEdge, MemoryEntry, MemoryVersion
from memory.models.entry_input import redact_field
from memory.review.replaced_memories import REPLACEABLE, find_replaced

Event = MemoryVersion.Event
Status = MemoryEntry.Status
FORGETTABLE = frozenset({Status.ACTIVE, Status.PROPOSED, Status.SUPERSEDED})
BULK_INPUT = "bulk"  # key in the input of a commit: the bulk run that it is part of
EDITABLE = frozenset(
    {"content", "title", "kind", "slots", "tags", "entities", "importance", "confidence"}
    | {"salience", "half_life_days", "tier", "valid_from", "valid_to", "expires_at"}
)
# All fields that two versions can differ in.
RESTORED = EDITABLE | {"status", "pinned", "visibility", "sources"}


@dataclass(frozen=True, kw_only=True)
class Decision:
    """A decision of an actor about the version of a memory that they saw."""

    account_id: UUID
    entry_id: UUID
    actor: Actor
    version: int | None = None  # None: any version
    reason: str = ""

    @classmethod
    def about(cls, entry: MemoryEntry, actor: Actor, reason: str = "") -> "Decision":
        """Return a decision about the current version of a memory."""
        return cls(
            account_id=entry.account_id,
            entry_id=entry.pk,
            actor=actor,
            version=entry.version,
            reason=reason,
        )

    @cached_property
    def redacted_reason(self) -> str:
        return redact_reason(self.account_id, self.reason)

    def apply(
        self,
        event: str,
        values: Mapping[str, Any],
        *,
        when: set[str],
        commit: Recording | None = None,
    ) -> MemoryEntry:
        """Give the memory these values. Raise Conflict unless its status is one of `when`."""
        entry = lock_entry(self.account_id, self.entry_id, self.version)
        if entry.status not in when:
            raise wrong_status_error(entry, _("Someone else may have decided first."))
        with self.in_commit(commit) as own:
            update_entry(entry, event, values, own, reason=self.redacted_reason)
        return entry

    @contextmanager
    def in_commit(self, commit: Recording | None = None) -> Iterator[Recording]:
        """Yield the commit that this decision is part of, or record one of its own."""
        if commit:
            yield commit
            return
        with recording(self.account_id, self.actor, reason=self.redacted_reason) as own:
            yield own


def approve(
    decision: Decision,
    values: Mapping[str, Any] = MappingProxyType({}),
    *,
    commit: Recording | None = None,
) -> MemoryEntry:
    """Activate a proposal with these corrections. The same commit supersedes what it replaces.

    The proposal is pinned if it replaces a pinned memory.
    """
    account_id = decision.account_id
    corrections = redact_editable_values(account_id, values) if values else {}
    if commit is None:  # otherwise the caller has locked them
        ids = [decision.entry_id, *find_replaced(account_id, [decision.entry_id])]
        lock_entries(account_id, ids)
    with decision.in_commit(commit) as own:
        replaced = find_replaced(account_id, [decision.entry_id])
        return _activate(
            decision, Event.APPROVE, corrections, replaced, when={Status.PROPOSED}, commit=own
        )


def _activate(
    decision: Decision,
    event: str,
    values: Mapping[str, Any],
    replaced: Collection[UUID],
    *,
    when: set[str],
    commit: Recording,
) -> MemoryEntry:
    """Activate a memory, and supersede what it replaces."""
    active = {**values, "status": Status.ACTIVE}
    rows = MemoryEntry.objects.of(decision.account_id).filter(pk__in=replaced, pinned=True)
    if replaced and rows.exists():
        active["pinned"] = True
    entry = decision.apply(event, active, when=when, commit=commit)
    for old in sorted(replaced):
        replace(decision, entry_id=old, version=None).apply(
            Event.SUPERSEDE, {"status": Status.SUPERSEDED}, when={*REPLACEABLE}, commit=commit
        )
    return entry


def find_replaced_by_merge(account_id: UUID, new_id: UUID, into_id: UUID) -> set[UUID]:
    """Return the other memories that these proposals would supersede."""
    return find_replaced(account_id, [new_id, into_id]) - {new_id, into_id}


def reject(decision: Decision, *, commit: Recording | None = None) -> MemoryEntry:
    values = {"status": Status.REJECTED}
    return decision.apply(Event.REJECT, values, when={Status.PROPOSED}, commit=commit)


def merge(decision: Decision, into: Decision, values: Mapping[str, Any]) -> MemoryEntry:
    """Merge a proposal into another memory, which gets these values, in one commit.

    If the other one is a proposal too, it is approved. What the two would have replaced is
    superseded, except the other one itself. Undoing the commit separates them again.
    """
    account_id, pair = decision.account_id, (decision.entry_id, into.entry_id)
    lock_entries(account_id, {*pair, *find_replaced_by_merge(account_id, *pair)})
    for part in (decision, into):
        lock_entry(part.account_id, part.entry_id, part.version)
    replaced = find_replaced_by_merge(account_id, *pair)
    corrections = redact_editable_values(account_id, values)
    sources = {"sources": values["sources"]} if "sources" in values else {}
    with decision.in_commit() as own:
        decision.apply(
            Event.MERGE, {"status": Status.SUPERSEDED}, when={Status.PROPOSED}, commit=own
        )
        return _activate(
            into,
            Event.MERGE,
            {**corrections, **sources},
            replaced,
            when={Status.ACTIVE, Status.PROPOSED},
            commit=own,
        )


def pin(decision: Decision) -> MemoryEntry:
    """Mark a memory as important. People can filter by the mark; agents see it."""
    return decision.apply(Event.PIN, {"pinned": True}, when={Status.ACTIVE, Status.PROPOSED})


def unpin(decision: Decision) -> MemoryEntry:
    return decision.apply(Event.UNPIN, {"pinned": False}, when={*Status.values})


def forget(decision: Decision, *, commit: Recording | None = None) -> MemoryEntry:
    """Hide a memory from recall. It stays on record and can be restored."""
    values = {"status": Status.FORGOTTEN, "pinned": False}
    return decision.apply(Event.FORGET, values, when={*FORGETTABLE}, commit=commit)


def edit(decision: Decision, values: Mapping[str, Any]) -> MemoryEntry:
    corrections = redact_editable_values(decision.account_id, values)
    return decision.apply(Event.UPDATE, corrections, when={Status.ACTIVE, Status.PROPOSED})


def redact_editable_values(account_id: UUID, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the editable ones of these values, redacted by the policy of the account."""
    account = Account.objects.get(pk=account_id)
    return {
        name: redact_field(name, value, account.redact)
        for name, value in values.items()
        if name in EDITABLE
    }


def undo(decision: Decision) -> list[MemoryEntry]:
    """Undo the latest decision about a memory, with all its changes, in one new commit."""
    if current := MemoryEntry.objects.of(decision.account_id).filter(pk=decision.entry_id).first():
        affected = _versions_of_decision(current).values_list("entry_id", flat=True)
        lock_entries(decision.account_id, [current.pk, *affected])
    entry = lock_entry(decision.account_id, decision.entry_id, decision.version)
    if entry.version == 1:
        raise Conflict(
            _("There is nothing to undo: this memory has not changed since it was created.")
        )
    with decision.in_commit() as commit:
        return undo_versions(decision, _versions_of_decision(entry).filter(version__gt=1), commit)


def _versions_of_decision(entry: MemoryEntry) -> QuerySet[MemoryVersion]:
    """Return the versions that the latest decision about this memory created.

    These are all versions of its commit, unless a worker, an agent or a bulk run decided about many
    memories in it: then they are those of this memory, of the approved ones that superseded it, and
    of all memories that these superseded.
    """
    account_id, commit_id = entry.account_id, entry.commit_id
    in_commit = MemoryVersion.objects.of(account_id).filter(commit_id=commit_id)
    by_person = in_commit.filter(entry=entry, actor__startswith="user:")
    # If the note was erased, it is unknown whether the commit was part of a bulk run.
    bulk_notes = Note.objects.of(account_id).filter(
        Q(input__has_key=BULK_INPUT) | Q(salt=None), commit_id=commit_id
    )
    if by_person.exists() and not bulk_notes.exists():
        return in_commit
    replaced = in_commit.filter(event=Event.SUPERSEDE).values("entry_id")
    edges = MemoryEdge.objects.of(account_id).filter(
        type=MemoryEdge.Type.SUPERSEDES, src__in=in_commit.values("entry_id"), dst__in=replaced
    )
    pairs = set(edges.values_list("src_id", "dst_id"))
    newer = _follow_pairs({entry.pk}, {(dst, src) for src, dst in pairs})
    return in_commit.filter(entry__in=_follow_pairs(newer, pairs))


def _follow_pairs(starts: set[UUID], pairs: Collection[tuple[UUID, UUID]]) -> set[UUID]:
    """Return these memories, and those to which pairs lead from them."""
    reached = added = starts
    while added:
        added = {dst for src, dst in pairs if src in added} - reached
        reached = reached | added
    return reached


def undo_versions(
    decision: Decision, versions: QuerySet[MemoryVersion], commit: Recording
) -> list[MemoryEntry]:
    """Restore the state that each memory had before its version in `versions`."""
    return [
        _restore(
            replace(decision, entry_id=row.entry_id, version=row.version),
            row.version - 1,
            RESTORED,
            commit,
        )
        for row in versions.order_by("entry_id")
    ]


def revert(decision: Decision, *, to: int) -> MemoryEntry:
    """Restore the text and metadata of an earlier version as a new version; the status stays."""
    return _restore(decision, to, EDITABLE)


def _restore(
    decision: Decision, to: int, names: Container[str], commit: Recording | None = None
) -> MemoryEntry:
    versions = MemoryVersion.objects.of(decision.account_id).filter(entry_id=decision.entry_id)
    earlier = versions.filter(version=to).first()
    if earlier is None:
        raise NotFound(_("This memory has no such version."))
    values = {
        field.name: _restore_field(field, earlier.state)
        for field in MemoryEntry._meta.concrete_fields
        if field.name in names
    }
    return decision.apply(Event.UNDO, values, when={*Status.values}, commit=commit)


def _restore_field(field: Any, state: Mapping[str, Any]) -> Any:
    """Return the value of a field in an earlier state. States omit empty fields."""
    if field.name in state:
        return field.to_python(state[field.name])
    return None if field.null else field.get_default()
