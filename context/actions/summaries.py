"""Summaries of the older part of a conversation: memory first, then the summary, then reuse."""

from collections.abc import Sequence
from uuid import UUID

import structlog
from django.db import DatabaseError, transaction
from django.utils import timezone

from context.actions.model_summaries import RETELL_CONVERSATION, at_first, owe_summaries
from context.assembly.calls import Compacted
from context.assembly.messages import Message
from context.assembly.sources import remember
from context.assembly.stages import Collected, Request
from context.models import ContextSummary
from context.reports.stored_inputs import digest_of
from kmapp.errors import DomainError
from kmapp.pii import redact
from memory.actions.messages import MessageContext

log = structlog.get_logger()
LOOKED_AT = 20  # summaries of one conversation, the longest first


def _digest(account_id: UUID, bodies: Sequence[UUID], language: str) -> UUID:
    return digest_of(account_id, " ".join([language, *map(str, bodies)]))


def known_summary(request: Request, bodies: Sequence[UUID], language: str) -> Compacted | None:
    """The longest stored summary of how this conversation begins. Inside `acting`."""
    row = _known(request, bodies, language)
    return Compacted(covers=row.covers, text=row.text, by=row.summary_by) if row else None


def _known(request: Request, bodies: Sequence[UUID], language: str) -> ContextSummary | None:
    within = request.within
    if not within.conversation_id:
        return None
    rows = ContextSummary.objects.of(request.account_id).filter(
        conversation_id=within.conversation_id,
        thread_id=within.thread_id,
        user_id=within.user_id,
        covers__lte=len(bodies),
    )
    for row in rows.order_by("-covers", "-created_at")[:LOOKED_AT]:
        if row.digest == _digest(request.account_id, bodies[: row.covers], language):
            return row
    return None


def keep_summary(request: Request, collected: Collected, made: Compacted) -> dict[str, object]:
    """Hand what is summed up to memory, then keep the summary. Returns the decision about memory.

    Inside `acting`. What an earlier summary covers was handed over with it.
    """
    material, within = collected.material, request.within
    before = _known(request, collected.bodies, material.language)
    done = before.covers if before and before.flushed else 0
    decision = _flush(request, material.messages[done : made.covers])
    if within.conversation_id:
        digest = _digest(request.account_id, collected.bodies[: made.covers], material.language)
        row = ContextSummary(
            account_id=request.account_id,
            conversation_id=within.conversation_id,
            thread_id=within.thread_id,
            user_id=within.user_id,
            digest=digest,
            covers=made.covers,
            bodies=list(collected.bodies[: made.covers]),
            text=redact(made.text, collected.settings.account.redact)[0],
            extractive=at_first(),
            flushed=bool(decision.get("messages")),
            created_at=timezone.now(),
        )
        # Another call of the conversation may have been first.
        ContextSummary.objects.bulk_create([row], ignore_conflicts=True)
        owe_summaries(request.account_id, RETELL_CONVERSATION, [row.pk])
    return decision


def _flush(request: Request, messages: Sequence[Message]) -> dict[str, object]:
    if not request.may_flush:
        return {"action": "memory_flush", "skipped": "the key may not write memories"}
    try:
        with transaction.atomic():
            return {"action": "memory_flush", **remember(_told(request), messages)}
    except (DomainError, DatabaseError) as error:  # the call goes on; the messages are the client's
        log.warning("memory_flush_failed", error=type(error).__name__)
        return {"action": "memory_flush", "skipped": f"it failed: {type(error).__name__}"}


def _told(request: Request) -> MessageContext:
    return MessageContext(
        account_id=request.account_id,
        actor=request.actor,
        scope=request.scope,
        user_id=request.within.user_id,
        agent_id=request.agent_id,
        app_id=request.app_id,
        run_id=request.within.conversation_id,
    )
