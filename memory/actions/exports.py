"""Taking memories out: the ledger knows who took which, and when."""

from uuid import UUID

from django.utils import timezone

from kmapp.accounts.actors import Actor
from kmapp.database.ids import uuid7
from kmapp.ledger.actions import recording
from memory.models import MemoryExport


def record_export(
    account_id: UUID, actor: Actor, *, form: MemoryExport.Form, query: str, number: int
) -> MemoryExport:
    """Write down that these memories leave, before the first of them does."""
    with recording(account_id, actor, reason="export") as commit:
        export_row = MemoryExport(
            id=uuid7(),
            account_id=account_id,
            commit_id=commit.id,
            taken_by=str(actor),
            form=form,
            query=query,
            number=number,
            created_at=timezone.now(),
        )
        export_row.save(force_insert=True)
        commit.add(export_row, "EXPORT")
    return export_row
