"""Flush of a conversation's older messages to memory, before a summary replaces them."""

from collections.abc import Sequence
from typing import Any

import structlog
from django.db import DatabaseError, transaction

from context.assembly.messages import Message, message_text
from context.assembly.stage_data import AssemblyRequest
from kmapp.errors import DomainError
from memory.actions.extraction_requests import MessageContext, enqueue_conversation
from memory.extraction.conversation import Message as ConversationMessage
from memory.models import MemorySettings

log = structlog.get_logger()


def flush_messages(request: AssemblyRequest, messages: Sequence[Message]) -> dict[str, object]:
    """Hand messages to memory, without failing the call; return the decision. Inside `acting`."""
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
            return {"action": "memory_flush", **_enqueue_messages(batch, messages)}
    except (DomainError, DatabaseError) as error:  # the call continues; the client has the messages
        log.warning("memory_flush_failed", error=type(error).__name__)
        return {"action": "memory_flush", "skipped": f"it failed: {type(error).__name__}"}


def _enqueue_messages(batch: MessageContext, messages: Sequence[Message]) -> dict[str, Any]:
    """Hand messages to memory; return the decision about it. Inside `acting`."""
    policy = MemorySettings.objects.get_or_default(batch.account_id)
    if not policy.memory_enabled or not policy.auto_store:
        return {"skipped": "automatic storing is off for this account (auto_store)"}
    texts = [
        ConversationMessage(role=message["role"], text=text)
        for message in messages
        if (text := message_text(message)).strip()
    ]
    if all(text.is_system for text in texts):
        return {"messages": 0}
    event = enqueue_conversation(batch, texts)
    return {"messages": len(texts), "event_id": str(event.event_id)}
