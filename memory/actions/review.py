"""What people decide about memories. Every decision is a new version, so each can be taken back."""

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from kmapp.accounts.actors import SYSTEM, Actor
from kmapp.accounts.models import Account
from kmapp.accounts.redacted_text import redact_text, redacted_reason
from kmapp.errors import Conflict, NotFound
from kmapp.ledger.actions import Recording, recording
from kmapp.ledger.models import Note
from kmapp.pii import redact_json
from memory.actions.versions import lock_entry, update_entry
from memory.models import MemoryEdge, MemoryEntry, MemoryVersion

Event = MemoryVersion.Event
Status = MemoryEntry.Status
FORGETTABLE = frozenset({Status.ACTIVE, Status.PROPOSED, Status.SUPERSEDED})
BULK_INPUT = "bulk"  # in the note of a commit: which decision about many it is part of
# What may be rewritten in place.
EDITABLE = frozenset(
    {"content", "title", "kind", "slots", "tags", "entities", "importance", "confidence"}
    | {"salience", "half_life_days", "tier", "valid_from", "valid_to", "expires_at"}
)
# What taking back puts back: all that two versions can differ in.
RESTORED = EDITABLE | {"status", "pinned", "visibility", "sources"}


@dataclass(frozen=True, kw_only=True)
class Decision:
    """Who decides about which memory, having seen which version of it."""

    account_id: UUID
    entry_id: UUID
    actor: Actor
    version: int | None = None  # None: whichever it is
    reason: str = ""

    @cached_property
    def redacted_reason(self) -> str:
        return redacted_reason(self.account_id, self.reason)

    def make(
        self,
        event: str,
        values: Mapping[str, Any],
        *,
        when: set[str],
        commit: Recording | None = None,
    ) -> MemoryEntry:
        """Give the memory these values, if its status is one of `when`."""
        entry = lock_entry(self.account_id, self.entry_id, self.version)
        if entry.status not in when:
            raise Conflict(
                f"This memory is {entry.get_status_display()}; somebody may have decided first.",
                code="wrong_status",
                details={"status": entry.status, "version": entry.version},
            )
        update_entry(
            entry,
            actor=self.actor,
            event=event,
            reason=self.redacted_reason,
            values=values,
            commit=commit,
        )
        return entry


@contextmanager
def _within(decision: Decision, commit: Recording | None) -> Iterator[Recording]:
    """Use the commit that this decision is part of, or one of its own."""
    if commit:
        yield commit
        return
    with recording(decision.account_id, decision.actor, reason=decision.redacted_reason) as own:
        yield own


def approve(
    decision: Decision,
    values: Mapping[str, Any] = MappingProxyType({}),
    *,
    commit: Recording | None = None,
) -> MemoryEntry:
    """Let a proposed memory count, with these corrections if there are any.

    What it supersedes stops counting, in the same commit.
    """
    better = redact_editable_values(decision.account_id, values) if values else {}
    with _within(decision, commit) as versions:
        entry = decision.make(
            Event.APPROVE,
            {**better, "status": Status.ACTIVE},
            when={Status.PROPOSED},
            commit=versions,
        )
        replaced = MemoryEdge.objects.of(decision.account_id).filter(
            src=entry, type=MemoryEdge.Type.SUPERSEDES, dst__status=Status.ACTIVE
        )
        for old in replaced.order_by("dst_id").values_list("dst_id", flat=True):
            replace(decision, entry_id=old, version=None).make(
                Event.SUPERSEDE,
                {"status": Status.SUPERSEDED},
                when={Status.ACTIVE},
                commit=versions,
            )
    return entry


def reject(decision: Decision, *, commit: Recording | None = None) -> MemoryEntry:
    """Refuse a proposed memory."""
    values = {"status": Status.REJECTED}
    return decision.make(Event.REJECT, values, when={Status.PROPOSED}, commit=commit)


def merge(decision: Decision, into: Decision, values: Mapping[str, Any]) -> MemoryEntry:
    """Let another memory go on for a proposal, with these values; both changes are one commit.

    Both stay in the ledger as they were, so taking it back parts them again.
    """
    for each in sorted((decision, into), key=lambda one: one.entry_id):
        lock_entry(each.account_id, each.entry_id, each.version)  # in one order, whoever merges
    better = redact_editable_values(decision.account_id, values)
    sources = {"sources": values["sources"]} if "sources" in values else {}
    with recording(decision.account_id, decision.actor, reason=decision.redacted_reason) as commit:
        decision.make(
            Event.MERGE, {"status": Status.SUPERSEDED}, when={Status.PROPOSED}, commit=commit
        )
        return into.make(
            Event.MERGE,
            {**better, **sources, "status": Status.ACTIVE},
            when={Status.ACTIVE, Status.PROPOSED},
            commit=commit,
        )


def pin(decision: Decision) -> MemoryEntry:
    """Mark a memory as one that matters. People see and filter by the mark; agents are told it."""
    return decision.make(Event.PIN, {"pinned": True}, when={Status.ACTIVE, Status.PROPOSED})


def unpin(decision: Decision) -> MemoryEntry:
    return decision.make(Event.UNPIN, {"pinned": False}, when={*Status.values})


def forget(decision: Decision, *, commit: Recording | None = None) -> MemoryEntry:
    """Stop telling a memory to anyone. It stays on record and can be taken back."""
    return decision.make(
        Event.FORGET,
        {"status": Status.FORGOTTEN, "pinned": False},
        when={*FORGETTABLE},
        commit=commit,
    )


def edit(decision: Decision, values: Mapping[str, Any]) -> MemoryEntry:
    """Correct a memory."""
    better = redact_editable_values(decision.account_id, values)
    return decision.make(Event.UPDATE, better, when={Status.ACTIVE, Status.PROPOSED})


def redact_editable_values(account_id: UUID, values: Mapping[str, Any]) -> dict[str, Any]:
    """Redact the editable values by the account's policy."""
    account = Account.objects.get(pk=account_id)
    return {
        name: _cleaned(value, account.redact) for name, value in values.items() if name in EDITABLE
    }


def _cleaned(value: Any, kinds: Sequence[str]) -> Any:
    if isinstance(value, str):
        return redact_text(value, kinds)
    return redact_json(value, kinds)[0] if isinstance(value, dict | list) else value


def undo(decision: Decision) -> list[MemoryEntry]:
    """Take the latest decision back: what it changed, in one new commit."""
    entry = lock_entry(decision.account_id, decision.entry_id, decision.version)
    if entry.version == 1:
        raise Conflict(_("There is nothing to take back: this memory is as it was written."))
    changed = _decided_with(entry).filter(version__gt=1)
    with recording(decision.account_id, decision.actor, reason=decision.redacted_reason) as commit:
        return undo_versions(decision, changed, commit)


def _decided_with(entry: MemoryEntry) -> QuerySet[MemoryVersion]:
    """Return the latest version of a memory and those decided with it.

    That is all of its commit, unless workers or a person did the same to many at a time: then it is
    this memory with what took its place there, or what it took the place of.
    """
    account_id, commit_id = entry.account_id, entry.commit_id
    together = MemoryVersion.objects.of(account_id).filter(commit_id=commit_id)
    by_workers = together.filter(entry=entry, actor=str(SYSTEM))
    # Where the note was erased, nobody knows any more what belonged together.
    of_many = Note.objects.of(account_id).filter(
        Q(input__has_key=BULK_INPUT) | Q(salt=None), commit_id=commit_id
    )
    if not by_workers.exists() and not of_many.exists():
        return together
    replaced = together.filter(event=Event.SUPERSEDE).values("entry_id")
    pairs = MemoryEdge.objects.of(account_id).filter(
        type=MemoryEdge.Type.SUPERSEDES, dst__in=replaced
    )
    newer = {entry.pk, *pairs.filter(dst=entry).values_list("src_id", flat=True)}
    older = pairs.filter(src__in=newer).values_list("dst_id", flat=True)
    return together.filter(entry__in=newer.union(older))


def undo_versions(
    decision: Decision, versions: QuerySet[MemoryVersion], commit: Recording
) -> list[MemoryEntry]:
    """Put each of these memories back to what it was before this version of it."""
    return [
        _go_back(
            replace(decision, entry_id=row.entry_id, version=row.version),
            row.version - 1,
            RESTORED,
            commit,
        )
        for row in versions.order_by("entry_id")
    ]


def revert(decision: Decision, *, to: int) -> MemoryEntry:
    """Make what an earlier version said current, as a new version. Its status is for the verbs."""
    return _go_back(decision, to, EDITABLE)


def _go_back(
    decision: Decision, to: int, names: Container[str], commit: Recording | None = None
) -> MemoryEntry:
    versions = MemoryVersion.objects.of(decision.account_id).filter(entry_id=decision.entry_id)
    earlier = versions.filter(version=to).first()
    if earlier is None:
        raise NotFound(_("This memory has no such version."))
    values = {
        field.name: _restored(field, earlier.state)
        for field in MemoryEntry._meta.concrete_fields
        if field.name in names
    }
    return decision.make(Event.UNDO, values, when={*Status.values}, commit=commit)


def _restored(field: Any, state: Mapping[str, Any]) -> Any:
    """Return the previous value of a column; states leave out empty values."""
    if field.name in state:
        return field.to_python(state[field.name])
    return None if field.null else field.get_default()
