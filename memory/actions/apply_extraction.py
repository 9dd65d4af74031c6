"""Writing of extraction results, in the transaction that finishes the extraction."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.db.models import Q
from django.utils import timezone

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.accounts.pii_redaction import redact_text
from kmapp.database.ids import uuid7
from kmapp.errors import Conflict
from kmapp.ledger.actions import Recording, recording
from memory.actions.edges import JUDGING_TYPES
from memory.actions.entry_locks import lock_entries, lock_entry
from memory.actions.model_requests import InvalidAnswer
from memory.actions.record_versions import update_entry
from memory.actions.review import Decision, edit
from memory.actions.unfinished_extraction_facts import PENDING_FACTS
from memory.actions.write_entries import (
    build_update_proposal,
    needs_review,
    propose_update,
    write_batch,
    write_within_commit,
)
from memory.extraction.fact_resolution import FactOutcome, SimilarMemory, normalize_for_comparison
from memory.extraction.response_schema import Rewrite
from memory.models import Extraction, MemoryEdge, MemoryEntry, MemorySettings, MemoryVersion, Viewer
from memory.models.entries import owner_of
from memory.models.entry_input import Batch, EdgeEnd, NewEdge, NewEntry, redact_field

Type, Status, Event = MemoryEdge.Type, MemoryEntry.Status, MemoryVersion.Event
REASON = "Extracted from a conversation."
ALREADY_PROPOSED = "It is already pending review."


def finish(
    row: Extraction,
    write: Callable[[Extraction], Mapping[str, Any]],
    *,
    memories: Collection[UUID] = (),
) -> None:
    """Store what `write` returns as the result, and delete the input. Opens `acting` itself.

    `memories` are the existing memories that `write` changes or connects. They are locked before
    the extraction, as an erasure does, so that the two cannot deadlock. If the extraction is
    already finished, nothing happens.
    """
    with acting(row.account_id):
        lock_entries(row.account_id, memories)
        locked = _lock_unfinished(row)
        if locked is None:
            return
        result = write(locked)
        locked.result, locked.finished_at = dict(result), timezone.now()
        locked.said, locked.problem, locked.answer = {}, "", ""
        ids = [each.get(name) for each in result["results"] for name in ("id", "supersedes")]
        locked.memories = sorted({*locked.memories, *(UUID(pk) for pk in ids if pk)})
        locked.save(
            update_fields=["result", "finished_at", "said", "problem", "answer", "memories"]
        )


def record_failure(row: Extraction, error: InvalidAnswer) -> None:
    """Store an unusable answer for people to read. The input stays for another attempt.

    That attempt extracts the facts again, because they may be the cause.
    """
    with acting(row.account_id):
        if locked := _lock_unfinished(row):
            locked.problem, locked.answer = error.problem[:500], error.raw
            locked.said.pop(PENDING_FACTS, None)
            locked.save(update_fields=["problem", "answer", "said"])


def _lock_unfinished(row: Extraction) -> Extraction | None:
    rows = Extraction.objects.of(row.account_id).select_for_update(no_key=True, of=("self",))
    return rows.filter(pk=row.pk, finished_at=None).first()


def find_affected(row: Extraction, outcomes: Sequence[FactOutcome]) -> set[UUID]:
    """Return the existing memories that `write_outcomes` changes or connects. Opens `acting`."""
    with acting(row.account_id):
        entities = _find_entities(row, _list_names(outcomes))
    return {*_compared_memories(outcomes), *find_sources(row), *entities.values()}


def find_sources(row: Extraction) -> list[UUID]:
    """Return the messages of the conversation that are stored as memories."""
    return [UUID(pk) for pk in row.said.get("stored", [])]


def write_outcomes(row: Extraction, outcomes: Sequence[FactOutcome]) -> list[dict[str, Any]]:
    """Write the outcomes of facts. Raise Conflict if a compared memory changed meanwhile."""
    compared = _compared_memories(outcomes)
    with recording(row.account_id, Actor.parse(row.actor), reason=REASON) as commit:
        # In the order of ids, so that two transactions cannot deadlock.
        memories = {
            pk: lock_entry(row.account_id, pk, memory.version)
            for pk, memory in sorted(compared.items())
        }
        if any(entry.status != Status.ACTIVE for entry in memories.values()):
            raise Conflict("A memory stopped being active meanwhile.", code="stale_version")
        writer = _OutcomeWriter(row, commit, memories, outcomes)
        return [writer.write(outcome) for outcome in outcomes]


def _compared_memories(outcomes: Sequence[FactOutcome]) -> dict[UUID, SimilarMemory]:
    """Return the memories that these outcomes change, supersede or contradict, by id."""
    return {
        each.memory.id: each.memory for each in outcomes if each.memory and each.event != "NONE"
    }


def _list_names(outcomes: Sequence[FactOutcome]) -> set[str]:
    return {name for outcome in outcomes for name in outcome.fact.entities}


def write_procedure(row: Extraction, text: str) -> dict[str, Any]:
    draft = NewEntry(
        id=uuid7(),
        text=text,
        kind=MemoryEntry.Kind.PROCEDURE,
        metadata=row.metadata,
        observed_at=row.observed_at,
        **owner_of(row),
    )
    batch = Batch(entries=[draft], edges=_edges_to_sources(draft, row), reason="Record of a run.")
    actor = Actor.parse(row.actor)
    entry = write_batch(account_id=row.account_id, actor=actor, batch=batch).entries[0]
    return {"item": 0, "id": str(entry.pk), "event": "ADD", "status": entry.status}


def write_rewrite(row: Extraction, seen: MemoryEntry, rewrite: Rewrite) -> dict[str, Any]:
    """Change a memory as an instruction says, or propose the change where review is needed."""
    values: dict[str, Any] = {"content": rewrite.content}
    if rewrite.importance is not None:
        values["importance"] = rewrite.importance
    elif normalize_for_comparison(rewrite.content) == normalize_for_comparison(seen.content):
        return {"item": 0, "id": str(seen.pk), "event": "NONE"}
    actor = Actor.parse(row.actor)
    decision = Decision.about(seen, actor, row.said["instruction"][:500])
    settings = MemorySettings.objects.get_or_default(row.account_id)
    is_proposal = needs_review(settings, actor, seen.visibility, seen.kind)
    entry = (propose_update if is_proposal else edit)(decision, values)
    result = {"item": 0, "event": "UPDATE", "id": str(entry.pk), "status": entry.status}
    return {**result, "supersedes": str(seen.pk)} if is_proposal else result


def _build_edges(
    src: UUID | None, edge_type: MemoryEdge.Type, ids: Iterable[UUID]
) -> list[NewEdge]:
    weight = 1.0 if edge_type in JUDGING_TYPES else 0.5
    return [
        NewEdge(type=edge_type, src=EdgeEnd(id=src), dst=EdgeEnd(id=pk), weight=weight)
        for pk in ids
    ]


def _edges_to_sources(draft: NewEntry, row: Extraction) -> list[NewEdge]:
    return _build_edges(draft.id, Type.DERIVED_FROM, find_sources(row))


class _OutcomeWriter:
    """Writer of the outcomes of one extraction, within one commit."""

    def __init__(
        self,
        row: Extraction,
        commit: Recording,
        memories: Mapping[UUID, MemoryEntry],
        outcomes: Sequence[FactOutcome],
    ) -> None:
        self.row, self.commit, self.memories = row, commit, memories
        self.settings = MemorySettings.objects.get_or_default(row.account_id)
        self.entities = _find_entities(row, _list_names(outcomes))

    def write(self, outcome: FactOutcome) -> dict[str, Any]:
        reason = self._redact(outcome.reason)
        if outcome.event == "NONE":
            existing = outcome.memory.id if outcome.memory else None
            return _format_result(outcome, existing, "NONE", reason)
        memory = self.memories.get(outcome.memory.id) if outcome.memory else None
        actor = self.commit.actor
        if (
            memory
            and outcome.event in ("UPDATE", "DELETE")
            and needs_review(self.settings, actor, memory.visibility, memory.kind)
        ):
            return self._propose(outcome, memory, reason)
        if memory and outcome.event == "UPDATE":
            return self._update(outcome, memory, reason)
        return self._add(outcome, memory, reason)

    def _redact(self, text: str) -> str:
        return redact_text(text, self.settings.account.redact)

    def _add(self, outcome: FactOutcome, memory: MemoryEntry | None, reason: str) -> dict[str, Any]:
        """Add the fact; with the event DELETE it supersedes a memory."""
        waiting = MemoryEntry.objects.of(self.row.account_id).awaiting_review()
        same = waiting.filter(content=self._redact(outcome.fact.text), **owner_of(self.row))
        if proposed := same.values_list("pk", flat=True).first():
            return _format_result(outcome, proposed, "NONE", ALREADY_PROPOSED)
        draft = self._build_draft(outcome)
        names = {name.casefold() for name in draft.entities} & self.entities.keys()
        mentioned = sorted({self.entities[name] for name in names})
        edges = _edges_to_sources(draft, self.row)
        edges += _build_edges(draft.id, Type.MENTIONS, mentioned)
        if memory and outcome.event == "DELETE":
            edges += _build_edges(draft.id, Type.SUPERSEDES, [memory.pk])
        if memory and outcome.contradicts:
            edges += _build_edges(draft.id, Type.CONTRADICTS, [memory.pk])
        batch = Batch(entries=[draft], edges=edges, reason=reason)
        entry = write_within_commit(self.commit, batch).entries[0]
        result = _format_result(outcome, entry.pk, "ADD", reason, status=entry.status)
        if not memory or outcome.event != "DELETE":
            return result
        if entry.status == Status.ACTIVE:  # a proposal does not supersede the memory yet
            values = {"status": Status.SUPERSEDED}
            update_entry(memory, Event.SUPERSEDE, values, self.commit, reason=reason)
        return {**result, "supersedes": str(memory.pk)}

    def _update(self, outcome: FactOutcome, memory: MemoryEntry, reason: str) -> dict[str, Any]:
        entities = [*memory.entities, *outcome.fact.entities]
        redacted = redact_field("entities", entities, self.settings.account.redact)
        unique = list(dict.fromkeys(redacted))  # two numbers become the same "[phone]"
        values = {"content": self._redact(outcome.text), "entities": unique}
        update_entry(memory, Event.UPDATE, values, self.commit, reason=reason)
        return _format_result(outcome, memory.pk, "UPDATE", reason)

    def _propose(self, outcome: FactOutcome, memory: MemoryEntry, reason: str) -> dict[str, Any]:
        """Propose the change of a memory that needs review, for example an account-wide one."""
        text = self._redact(outcome.text or outcome.fact.text)
        replacing = MemoryEdge.objects.of(memory.account_id).filter(
            dst=memory, type=Type.SUPERSEDES
        )
        waiting = MemoryEntry.objects.of(memory.account_id).awaiting_review()
        proposed = waiting.filter(pk__in=replacing.values("src"), content=text).first()
        if proposed:
            return _format_result(outcome, proposed.pk, "NONE", ALREADY_PROPOSED)
        batch = build_update_proposal(memory, {"content": text}, reason=reason)
        if outcome.event == "DELETE":
            edges = _build_edges(batch.entries[0].id, Type.CONTRADICTS, [memory.pk])
            batch = replace(batch, edges=[*batch.edges, *edges])
        entry = write_within_commit(self.commit, batch).entries[0]
        result = _format_result(outcome, entry.pk, outcome.event, reason, status=entry.status)
        return {**result, "supersedes": str(memory.pk)}

    def _build_draft(self, outcome: FactOutcome) -> NewEntry:
        row, fact = self.row, outcome.fact
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
            **owner_of(row),
        )


def _find_entities(row: Extraction, names: set[str]) -> dict[str, UUID]:
    """Return the entities with these names that the owner of the extraction can see."""
    if not names:
        return {}
    is_shared = not (row.user_id or row.agent_id)
    run_id = row.run_id if is_shared else ""
    viewer = Viewer(user_id=row.user_id, agent_id=row.agent_id, run_id=run_id)
    rows = MemoryEntry.objects.of(row.account_id).current().visible_to(viewer)
    is_named = Q(title__in=names) | Q(content__in=names)
    entities = rows.filter(is_named, kind=MemoryEntry.Kind.ENTITY).order_by("-pk")[:200]
    return {(entry.title or entry.content).casefold(): entry.pk for entry in entities}


def _format_result(
    outcome: FactOutcome, pk: UUID | None, event: str, reason: str, status: str = Status.ACTIVE
) -> dict[str, Any]:
    key = str(pk) if pk else None
    result = {"item": outcome.item, "id": key, "event": event, "reason": reason}
    return result if event == "NONE" else {**result, "status": str(status)}
