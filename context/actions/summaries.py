"""Summaries of older turns: first memory receives them, then the summary is stored and reused."""

from collections.abc import Sequence
from uuid import UUID

import structlog
from django.db import DatabaseError, transaction
from django.utils import timezone

from context.actions.model_summaries import (
    SUMMARISE_CONVERSATION,
    enqueue_summaries,
    initial_reason,
)
from context.assembly.calls import StoredSummary
from context.assembly.messages import Message
from context.assembly.sources import flush_to_memory
from context.assembly.stages import Collected, Request
from context.models import ContextSummary
from context.reports.stored_inputs import salted_digest
from kmapp.errors import DomainError
from kmapp.security.pii import redact
from memory.actions.messages import MessageContext

log = structlog.get_logger()
MAX_CANDIDATES = 20  # summaries of one conversation, longest first


def _digest(account_id: UUID, bodies: Sequence[UUID], language: str) -> UUID:
    return salted_digest(account_id, " ".join([language, *map(str, bodies)]))


def find_stored_summary(
    request: Request, bodies: Sequence[UUID], language: str
) -> StoredSummary | None:
    """Return the longest stored summary of the conversation's start. Inside `acting`."""
    row = _find_summary(request, bodies, language)
    return StoredSummary(covers=row.covers, text=row.text, by=row.summary_by) if row else None


def _find_summary(request: Request, bodies: Sequence[UUID], language: str) -> ContextSummary | None:
    within = request.within
    if not within.conversation_id:
        return None
    rows = ContextSummary.objects.of(request.account_id).filter(**within.ids())
    rows = rows.filter(covers__lte=len(bodies))
    for row in rows.order_by("-covers", "-created_at")[:MAX_CANDIDATES]:
        if row.digest == _digest(request.account_id, bodies[: row.covers], language):
            return row
    return None


def store_summary(
    request: Request, collected: Collected, summary: StoredSummary
) -> dict[str, object]:
    """Hand the summarised messages to memory, then store the summary. Inside `acting`.

    Return the decision about memory. Messages of an earlier summary were handed over with it.
    """
    material, within = collected.material, request.within
    before = _find_summary(request, collected.bodies, material.language)
    flushed_count = before.covers if before and before.flushed else 0
    decision = _flush_messages(request, material.messages[flushed_count : summary.covers])
    if within.conversation_id:
        digest = _digest(request.account_id, collected.bodies[: summary.covers], material.language)
        row = ContextSummary(
            account_id=request.account_id,
            **within.ids(),
            digest=digest,
            covers=summary.covers,
            bodies=list(collected.bodies[: summary.covers]),
            text=redact(summary.text, collected.settings.account.redact)[0],
            extractive=initial_reason(),
            flushed=bool(decision.get("messages")),
            created_at=timezone.now(),
        )
        # Another call of the conversation may have stored it first.
        ContextSummary.objects.bulk_create([row], ignore_conflicts=True)
        enqueue_summaries(request.account_id, SUMMARISE_CONVERSATION, [row.pk])
    return decision


def _flush_messages(request: Request, messages: Sequence[Message]) -> dict[str, object]:
    if not request.may_flush:
        return {"action": "memory_flush", "skipped": "the key lacks the scope to write memories"}
    batch = MessageContext(
        **{name: getattr(request, name) for name in ("account_id", "actor", "scope")},
        user_id=request.within.user_id,
        agent_id=request.agent_id,
        app_id=request.app_id,
        run_id=request.within.conversation_id,
    )
    try:
        with transaction.atomic():
            return {"action": "memory_flush", **flush_to_memory(batch, messages)}
    except (DomainError, DatabaseError) as error:  # the call continues; the client has the messages
        log.warning("memory_flush_failed", error=type(error).__name__)
        return {"action": "memory_flush", "skipped": f"it failed: {type(error).__name__}"}
