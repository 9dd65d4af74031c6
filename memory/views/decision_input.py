"""Decisions about a memory, built from a submitted form."""

from uuid import UUID

from django.urls import reverse

from kmapp.web.http import WebRequest, parse_reason
from memory.actions.review import Decision
from memory.models import MemoryEntry


def decision_of(request: WebRequest, pk: UUID, version: int | None) -> Decision:
    return Decision(
        account_id=request.account_id,
        entry_id=pk,
        actor=request.actor,
        version=version,
        reason=parse_reason(request),
    )


def undo_url(entry: MemoryEntry) -> str:
    return f"{reverse('memory:undo', args=[entry.pk])}?version={entry.version}"
