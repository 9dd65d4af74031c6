"""Records of exports in the ledger: who exported which memories, and when."""

from uuid import UUID

from django.utils import timezone

from kmapp.accounts.actors import Actor
from kmapp.database.ids import uuid7
from kmapp.ledger.actions import recording
from memory.models import MemoryExport


def record_export(
    account_id: UUID, actor: Actor, *, form: MemoryExport.Form, query: str, number: int
) -> MemoryExport:
    """Record an export. Call this before the first memory is sent."""
    with recording(account_id, actor, reason="export") as commit:
        row = MemoryExport(
            id=uuid7(),
            account_id=account_id,
            commit_id=commit.id,
            taken_by=str(actor),
            form=form,
            query=query,
            number=number,
            created_at=timezone.now(),
        )
        row.save(force_insert=True)
        commit.add(row, "EXPORT")
    return row
