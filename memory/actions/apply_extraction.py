"""Making true what an extraction came to: one commit, and the extraction is finished by it.

Inside `acting`, once: a second run finds the extraction finished and does nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from django.db.models import Q

from kmapp.accounts.actors import Actor
from kmapp.accounts.redacted_text import redact_text
from kmapp.database.ids import uuid7
from kmapp.errors import Conflict
from kmapp.ledger.actions import Recording, recording
from memory.actions.entries import needs_review, write_within_commit
from memory.actions.finish_extraction import close, held_open, ids_of
from memory.actions.proposals import build_update_proposal
from memory.actions.versions import lock_entry, update_entry
from memory.extraction.decisions import FactOutcome
from memory.models import (
    Extraction,
    MemoryEdge,
    MemoryEntry,
    MemorySettings,
    MemoryVersion,
    Viewer,
)
from memory.models.entry_input import Batch, EdgeEnd, NewEdge, NewEntry

Type, Status, Event = MemoryEdge.Type, MemoryEntry.Status, MemoryVersion.Event
EXTRACTED = "Extracted from a conversation."
JUDGED, DERIVED, MENTIONED = 1.0, 0.5, 0.5  # weights of edges


def remember(
    row: Extraction,
    operations: Sequence[FactOutcome],
    refused: Sequence[Mapping[str, Any]],
    result_details: Mapping[str, Any],
) -> None:
    """Do what was settled. Memories that changed since they were compared: a Conflict."""
    held = held_open(row.account_id, row.pk)
    if held is None:
        return
    actor = Actor.parse(held.actor)
    touched = {
        operation.similar.id: operation.similar
        for operation in operations
        if operation.similar and operation.event != "NONE"
    }
    with recording(held.account_id, actor, reason=EXTRACTED) as commit:
        # In the order of their ids, as all who hold several do.
        old = {pk: _still(held, pk, touched[pk].version) for pk in sorted(touched)}
        scene = _Scene(held, commit, old, operations)
        results = [scene.do(operation) for operation in operations]
    close(held, {"results": results, "refused": list(refused), **result_details})


class _Scene:
    """The commit in the making, and who it concerns."""

    def __init__(
        self,
        row: Extraction,
        commit: Recording,
        old: Mapping[UUID, MemoryEntry],
        operations: Sequence[FactOutcome],
    ) -> None:
        self.row, self.commit, self.old = row, commit, old
        self.settings = MemorySettings.objects.get_or_default(row.account_id)
        self.stored = [UUID(pk) for pk in row.said.get("stored", [])]
        self.named = _entities(
            row, {name for operation in operations for name in operation.fact.entities}
        )

    def do(self, operation: FactOutcome) -> dict[str, Any]:
        reason = redact_text(operation.reason, self.settings.account.redact)
        target = (
            self.old.get(operation.similar.id)
            if operation.similar and operation.event != "NONE"
            else None
        )
        if operation.event == "NONE":
            previous_id = operation.similar.id if operation.similar else None
            return _result(operation, previous_id, "NONE", reason)
        if target and operation.event in ("UPDATE", "DELETE") and self._needs_review(target):
            return self._propose(operation, target, reason)
        if target and operation.event == "UPDATE":
            return self._update(operation, target, reason)
        return self._add(operation, target, reason)

    def _needs_review(self, entry: MemoryEntry) -> bool:
        """Whether a person decides about changes of this memory."""
        return needs_review(self.settings, self.commit.actor, entry.visibility, entry.kind)

    def _add(
        self, operation: FactOutcome, target: MemoryEntry | None, reason: str
    ) -> dict[str, Any]:
        """Remember the fact. With DELETE it takes the place of a memory, which stays on record."""
        if waiting := self._proposed_already(operation):
            return _result(operation, waiting, "NONE", "It waits for a person already.")
        draft = self._draft(operation)
        edges = [*self._edges_of(draft), *_judging(draft, target, operation)]
        written = write_within_commit(
            self.commit, Batch(entries=[draft], edges=edges, reason=reason)
        )
        entry = written.entries[0]
        # While it waits for a person, what it contradicts goes on holding.
        if target and operation.event == "DELETE" and entry.status == Status.ACTIVE:
            self._change(target, Event.SUPERSEDE, {"status": Status.SUPERSEDED}, reason)
        result = _result(operation, entry.pk, "ADD", reason, status=entry.status)
        return result | (
            {"supersedes": str(target.pk)} if target and operation.event == "DELETE" else {}
        )

    def _update(self, operation: FactOutcome, target: MemoryEntry, reason: str) -> dict[str, Any]:
        names = list(dict.fromkeys([*target.entities, *operation.fact.entities]))
        text = redact_text(operation.text, self.settings.account.redact)
        self._change(target, Event.UPDATE, {"content": text, "entities": names}, reason)
        return _result(operation, target.pk, "UPDATE", reason)

    def _propose(self, operation: FactOutcome, target: MemoryEntry, reason: str) -> dict[str, Any]:
        """Propose memories that more people would see than took part in the conversation."""
        text = redact_text(operation.text or operation.fact.text, self.settings.account.redact)
        there = _proposals(target).filter(content=text).first()
        if there:
            return _result(operation, there.pk, "NONE", "It waits for a person already.")
        batch = build_update_proposal(target, {"content": text}, reason=reason)
        if operation.event == "DELETE":
            edge = NewEdge(
                type=Type.CONTRADICTS,
                src=EdgeEnd(id=batch.entries[0].id),
                dst=EdgeEnd(id=target.pk),
                weight=JUDGED,
            )
            batch = Batch(entries=batch.entries, edges=[*batch.edges, edge], reason=reason)
        entry = write_within_commit(self.commit, batch).entries[0]
        result_details = _result(operation, entry.pk, operation.event, reason, status=entry.status)
        return result_details | {"supersedes": str(target.pk)}

    def _change(
        self, entry: MemoryEntry, event: str, values: Mapping[str, Any], reason: str
    ) -> None:
        update_entry(
            entry,
            actor=self.commit.actor,
            event=event,
            reason=reason,
            values=values,
            commit=self.commit,
        )

    def _draft(self, operation: FactOutcome) -> NewEntry:
        row, fact = self.row, operation.fact
        tags = dict.fromkeys([*([fact.category] if fact.category else []), *fact.tags])
        return NewEntry(
            id=uuid7(),
            text=fact.text,
            kind=fact.kind,
            metadata=row.metadata,
            tags=list(tags),
            entities=fact.entities,
            importance=fact.importance,
            observed_at=row.observed_at,
            **ids_of(row),
        )

    def _edges_of(self, draft: NewEntry) -> list[NewEdge]:
        """Where it was said, and the entities that it names."""
        src = EdgeEnd(id=draft.id)
        summary_parts = [
            NewEdge(type=Type.DERIVED_FROM, src=src, dst=EdgeEnd(id=pk), weight=DERIVED)
            for pk in self.stored
        ]
        named = {
            self.named[name.casefold()] for name in draft.entities if name.casefold() in self.named
        }
        return [
            *summary_parts,
            *(
                NewEdge(type=Type.MENTIONS, src=src, dst=EdgeEnd(id=pk), weight=MENTIONED)
                for pk in sorted(named)
            ),
        ]

    def _proposed_already(self, operation: FactOutcome) -> UUID | None:
        """Return whether the same fact is already proposed and undecided."""
        text = redact_text(operation.fact.text, self.settings.account.redact)
        waiting = MemoryEntry.objects.of(self.row.account_id).awaiting_review()
        return waiting.filter(content=text, **ids_of(self.row)).values_list("pk", flat=True).first()


def _judging(draft: NewEntry, target: MemoryEntry | None, operation: FactOutcome) -> list[NewEdge]:
    if target is None:
        return []
    kinds = [Type.SUPERSEDES] if operation.event == "DELETE" else []
    if operation.contradicts:
        kinds.append(Type.CONTRADICTS)
    src, dst = EdgeEnd(id=draft.id), EdgeEnd(id=target.pk)
    return [NewEdge(type=kind, weight=JUDGED, src=src, dst=dst) for kind in kinds]


def _proposals(old: MemoryEntry) -> Any:
    """Return the proposals that would replace a memory."""
    edges = MemoryEdge.objects.of(old.account_id).filter(dst=old, type=Type.SUPERSEDES)
    waiting = MemoryEntry.objects.of(old.account_id).awaiting_review()
    return waiting.filter(pk__in=edges.values("src"))


def _entities(row: Extraction, names: set[str]) -> dict[str, UUID]:
    """Memories that stand for an entity of this name, among those the same people see."""
    if not names:
        return {}
    alone = not (row.user_id or row.agent_id)
    viewer = Viewer(user_id=row.user_id, agent_id=row.agent_id, run_id=row.run_id if alone else "")
    rows = MemoryEntry.objects.of(row.account_id).current().visible_to(viewer)
    stale_rows = rows.filter(
        Q(title__in=names) | Q(content__in=names), kind=MemoryEntry.Kind.ENTITY
    ).order_by("-pk")
    return {(entry.title or entry.content).casefold(): entry.pk for entry in stale_rows[:200]}


def _still(row: Extraction, pk: UUID, version: int) -> MemoryEntry:
    entry = lock_entry(row.account_id, pk, version)
    if entry.status != Status.ACTIVE:
        raise Conflict("A memory stopped counting while it was compared.", code="stale_version")
    return entry


def _result(
    operation: FactOutcome, pk: UUID | None, event: str, reason: str, status: str = Status.ACTIVE
) -> dict[str, Any]:
    result_details = {
        "item": operation.item,
        "id": str(pk) if pk else None,
        "event": event,
        "reason": reason,
    }
    return result_details | ({"status": str(status)} if event != "NONE" else {})
