"""Proposals of agents to change a memory that needs review."""

from collections.abc import Mapping
from typing import Any

from kmapp.database.ids import uuid7
from memory.actions.entries import write_batch
from memory.actions.review import Decision
from memory.actions.versions import lock_entry
from memory.models import MemoryEdge, MemoryEntry
from memory.models.entry_input import SHARED_FIELDS, Batch, EdgeEnd, NewEdge, NewEntry

# Fields that a proposal copies from the memory that it would supersede.
COPIED_FIELDS = (*SHARED_FIELDS, "visibility", "observed_at")
RENAMED = {"content": "text", "slots": "metadata"}


def propose_update(decision: Decision, values: Mapping[str, Any]) -> MemoryEntry:
    """Propose these values for a memory. Approving the proposal supersedes the memory."""
    old = lock_entry(decision.account_id, decision.entry_id, decision.version)
    batch = build_update_proposal(old, values, reason=decision.reason)
    written = write_batch(account_id=decision.account_id, actor=decision.actor, batch=batch)
    return written.entries[0]


def build_update_proposal(
    old: MemoryEntry, values: Mapping[str, Any], *, reason: str = ""
) -> Batch:
    """Build the input that proposes new values for a memory."""
    fields = {name: getattr(old, name) for name in (*COPIED_FIELDS, *RENAMED)} | dict(values)
    proposal_input = NewEntry(
        id=uuid7(), **{RENAMED.get(name, name): value for name, value in fields.items()}
    )
    return Batch(
        entries=[proposal_input],
        edges=[
            NewEdge(
                type=MemoryEdge.Type.SUPERSEDES,
                src=EdgeEnd(id=proposal_input.id),
                dst=EdgeEnd(id=old.pk),
                weight=1.0,
            )
        ],
        reason=reason,
    )
