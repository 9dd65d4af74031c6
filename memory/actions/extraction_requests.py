"""Requests to extract memories: their input is stored and enqueued for workers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account
from kmapp.accounts.pii_redaction import redact_text
from kmapp.errors import Invalid
from kmapp.outbox.publish import NewJob, publish
from kmapp.providers import chat
from kmapp.security.pii import redact_json
from memory.actions.entry_locks import wrong_status_error
from memory.actions.write_entries import WriteResult, write_batch
from memory.extraction.conversation import Message
from memory.models import Extraction, MemoryEntry
from memory.models.entries import owner_of
from memory.models.entry_input import Batch, NewEntry

EXTRACT = "memory.extract"
NO_CHAT_MODEL = "no_chat_model"
Kind = Extraction.Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageContext:
    """The sender of messages, their owner and their time."""

    account_id: UUID
    actor: Actor
    scope: str = ""
    user_id: str = ""
    agent_id: str = ""
    app_id: str = ""
    run_id: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    observed_at: datetime | None = None
    expires_at: datetime | None = None  # of messages that are stored as they are


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedExtraction:
    """The event that reports the progress, and the messages that were stored as memories."""

    event_id: UUID
    reason: str
    stored: Sequence[MemoryEntry] = ()


def store_messages(context: MessageContext, messages: Sequence[Message]) -> WriteResult:
    """Store each message as a memory of its own, except system messages."""
    entries = [
        NewEntry(
            text=message.text,
            kind=MemoryEntry.Kind.EVENT,
            metadata={
                **context.metadata,
                "role": message.role,
                **({"speaker": message.name} if message.name else {}),
            },
            observed_at=context.observed_at,
            expires_at=context.expires_at,
            **owner_of(context),
        )
        for message in messages
        if not message.is_system and message.text.strip()
    ]
    if not entries:
        raise Invalid(
            "Nothing to store: every message is empty or a system message.",
            issues=[{"path": "messages", "message": "has no text from a user or an assistant"}],
        )
    return write_batch(
        account_id=context.account_id, actor=context.actor, batch=Batch(entries=entries)
    )


def enqueue_conversation(
    context: MessageContext,
    messages: Sequence[Message],
    *,
    kind: str = Kind.CONVERSATION,
    **details: str,
) -> QueuedExtraction:
    """Enqueue the extraction of facts from a conversation, or of a record of the agent's actions.

    Without a chat model the messages are stored as memories now, and extracted later.
    """
    stored: Sequence[MemoryEntry] = ()
    has_text = any(not message.is_system and message.text.strip() for message in messages)
    if has_text and not chat.is_configured():
        stored = store_messages(context, messages).entries
    source_input = {
        "messages": [message.serialize() for message in messages],
        "stored": [str(entry.pk) for entry in stored],
        **details,
    }
    return _enqueue(context, kind, source_input, stored)


def enqueue_task(
    context: MessageContext, *, goal: str, result: str, log: str = ""
) -> QueuedExtraction:
    return _enqueue(context, Kind.TASK, {"goal": goal, "result": result, "log": log})


def enqueue_rewrite(
    context: MessageContext, entry: MemoryEntry, instruction: str
) -> QueuedExtraction:
    if entry.status != MemoryEntry.Status.ACTIVE:
        raise wrong_status_error(entry, _("Only an active memory can be changed."))
    source_input = {"entry": str(entry.pk), "version": entry.version, "instruction": instruction}
    return _enqueue(context, Kind.REWRITE, source_input)


def _enqueue(
    context: MessageContext,
    kind: str,
    source_input: Mapping[str, Any],
    stored: Sequence[MemoryEntry] = (),
) -> QueuedExtraction:
    """Store the input, redacted by the policy of the account, and enqueue its extraction."""
    kinds = Account.objects.get(pk=context.account_id).redact
    entries = [source_input["entry"]] if "entry" in source_input else []
    now = timezone.now()
    row = Extraction.objects.create(
        account_id=context.account_id,
        kind=kind,
        actor=str(context.actor),
        metadata=redact_json(dict(context.metadata), kinds)[0],
        said=_redact(source_input, kinds),
        memories=[UUID(pk) for pk in (*source_input.get("stored", ()), *entries)],
        observed_at=context.observed_at or now,
        created_at=now,
        **owner_of(context),
    )
    job_key = f"{row.pk}:1"
    new_job = NewJob(job_key=job_key, payload={"extraction": str(row.pk)})
    events = publish(context.account_id, EXTRACT, [new_job])
    reason = "" if chat.is_configured() else NO_CHAT_MODEL
    return QueuedExtraction(event_id=events[job_key], reason=reason, stored=stored)


def _redact(value: Any, kinds: Sequence[str]) -> Any:
    if isinstance(value, str):
        return redact_text(value, kinds)
    if isinstance(value, Mapping):
        return {
            name: item if name in ("images", "stored", "entry") else _redact(item, kinds)
            for name, item in value.items()
        }
    return [_redact(item, kinds) for item in value] if isinstance(value, list) else value
