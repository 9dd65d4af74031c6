"""What a model makes of one thing: the record of a run, or a memory as it reads from now on."""

from typing import Any
from uuid import UUID

from kmapp.accounts.actors import Actor
from kmapp.database.ids import uuid7
from memory.actions.apply_extraction import DERIVED
from memory.actions.entries import needs_review, write_batch
from memory.actions.finish_extraction import close, held_open, ids_of
from memory.actions.proposals import propose_update
from memory.actions.review import Decision, edit
from memory.extraction.decisions import normalize_for_comparison
from memory.extraction.response_schema import Rewrite
from memory.models import Extraction, MemoryEdge, MemoryEntry, MemorySettings
from memory.models.entry_input import Batch, EdgeEnd, NewEdge, NewEntry

Type = MemoryEdge.Type


def remember_procedure(row: Extraction, text: str) -> None:
    held = held_open(row.account_id, row.pk)
    if held is None:
        return
    draft = NewEntry(
        id=uuid7(),
        text=text,
        kind=MemoryEntry.Kind.PROCEDURE,
        metadata=held.metadata,
        observed_at=held.observed_at,
        **ids_of(held),
    )
    edges = [
        NewEdge(
            type=Type.DERIVED_FROM,
            src=EdgeEnd(id=draft.id),
            dst=EdgeEnd(id=UUID(pk)),
            weight=DERIVED,
        )
        for pk in held.said.get("stored", [])
    ]
    written = write_batch(
        account_id=held.account_id,
        actor=Actor.parse(held.actor),
        batch=Batch(entries=[draft], edges=edges, reason="Record of a run."),
    )
    entry = written.entries[0]
    result = {"item": 0, "id": str(entry.pk), "event": "ADD", "status": entry.status}
    close(held, {"results": [result]})


def rewrite(row: Extraction, seen: MemoryEntry, rewriting: Rewrite) -> None:
    """Change one memory, or propose it: as an update by its text does."""
    held = held_open(row.account_id, row.pk)
    if held is None:
        return None
    values: dict[str, Any] = {"content": rewriting.content}
    if rewriting.importance is not None:
        values["importance"] = rewriting.importance
    if (
        normalize_for_comparison(rewriting.content) == normalize_for_comparison(seen.content)
        and len(values) == 1
    ):
        return close(held, {"results": [{"item": 0, "id": str(seen.pk), "event": "NONE"}]})
    actor = Actor.parse(held.actor)
    decision = Decision(
        account_id=held.account_id,
        entry_id=seen.pk,
        actor=actor,
        version=seen.version,
        reason=held.said["instruction"][:500],
    )
    result: dict[str, Any] = {"item": 0, "event": "UPDATE"}
    settings = MemorySettings.objects.get_or_default(held.account_id)
    if needs_review(settings, actor, seen.visibility, seen.kind):
        entry = propose_update(decision, values)
        result |= {"id": str(entry.pk), "status": entry.status, "supersedes": str(seen.pk)}
    else:
        entry = edit(decision, values)
        result |= {"id": str(entry.pk), "status": entry.status}
    return close(held, {"results": [result]})
