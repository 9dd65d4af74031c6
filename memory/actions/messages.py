"""Handing over what was said. What is worth remembering of it, a worker finds out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone

from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account
from kmapp.accounts.redacted_text import redact_text
from kmapp.errors import Conflict, Invalid
from kmapp.outbox.actions import Task, publish
from kmapp.pii import redact_json
from kmapp.providers import chat
from memory.actions.entries import WriteResult, write_batch
from memory.extraction.conversation import Message
from memory.models import Extraction, MemoryEntry
from memory.models.entry_input import Batch, NewEntry

EXTRACT = "memory.extract"
NO_CHAT_MODEL = "no_chat_model"
Kind = Extraction.Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageContext:
    """Who says something, about whom, and when."""

    account_id: UUID
    actor: Actor
    scope: str = ""
    user_id: str = ""
    agent_id: str = ""
    app_id: str = ""
    run_id: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    observed_at: datetime | None = None

    def ids(self) -> dict[str, Any]:
        names = ("scope", "user_id", "agent_id", "app_id", "run_id")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedExtraction:
    """The event that tells how far it is, and the messages that are memories meanwhile."""

    event_id: UUID
    reason: str
    stored: Sequence[MemoryEntry] = ()


def store_messages(source: MessageContext, messages: Sequence[Message]) -> WriteResult:
    """Remember each message as it was said, but for the system's."""
    entries = [
        NewEntry(
            text=message.text,
            kind=MemoryEntry.Kind.EVENT,
            metadata={
                **source.metadata,
                "role": message.role,
                **({"speaker": message.name} if message.name else {}),
            },
            observed_at=source.observed_at,
            **source.ids(),
        )
        for message in messages
        if not message.is_system and message.text.strip()
    ]
    if not entries:
        raise Invalid(
            "There is nothing to remember: every message is empty or the system's.",
            issues=[{"path": "messages", "message": "holds no words of anybody"}],
        )
    return write_batch(
        account_id=source.account_id, actor=source.actor, batch=Batch(entries=entries)
    )


def enqueue_conversation(source: MessageContext, messages: Sequence[Message]) -> QueuedExtraction:
    """Have facts taken from a conversation.

    Where there is no chat model its messages are memories at once, and the facts come later.
    """
    stored: Sequence[MemoryEntry] = ()
    if not chat.configured() and _has_words(messages):
        stored = store_messages(source, messages).entries
    inputs = {
        "messages": [message.as_stored() for message in messages],
        "stored": [str(entry.pk) for entry in stored],
    }
    return _hand_over(source, Kind.CONVERSATION, inputs, stored)


def enqueue_procedure(
    source: MessageContext, messages: Sequence[Message], *, prompt: str = ""
) -> QueuedExtraction:
    """Have a complete record made of what an agent did."""
    stored: Sequence[MemoryEntry] = ()
    if not chat.configured() and _has_words(messages):
        stored = store_messages(source, messages).entries
    inputs = {
        "messages": [message.as_stored() for message in messages],
        "stored": [str(entry.pk) for entry in stored],
        "prompt": prompt,
    }
    return _hand_over(source, Kind.PROCEDURE, inputs, stored)


def enqueue_task(
    source: MessageContext, *, goal: str, result: str, log: str = ""
) -> QueuedExtraction:
    """Have it decided whether a completed task left anything worth keeping."""
    return _hand_over(source, Kind.TASK, {"goal": goal, "result": result, "log": log})


def enqueue_rewrite(
    source: MessageContext, entry: MemoryEntry, instruction: str
) -> QueuedExtraction:
    """Have a memory changed as somebody says."""
    if entry.status != MemoryEntry.Status.ACTIVE:
        raise Conflict(
            f"This memory is {entry.get_status_display()}: only an active one is changed.",
            code="wrong_status",
            details={"status": entry.status, "version": entry.version},
        )
    inputs = {"entry": str(entry.pk), "version": entry.version, "instruction": instruction}
    return _hand_over(source, Kind.REWRITE, inputs)


def _has_words(messages: Sequence[Message]) -> bool:
    return any(not message.is_system and message.text.strip() for message in messages)


def _hand_over(
    source: MessageContext, kind: str, inputs: Mapping[str, Any], stored: Sequence[MemoryEntry] = ()
) -> QueuedExtraction:
    """Keep what was said, without what the account wants blacked out, and owe the reading of it."""
    kinds = Account.objects.get(pk=source.account_id).redact
    about = [inputs["entry"]] if "entry" in inputs else []
    now = timezone.now()
    row = Extraction.objects.create(
        account_id=source.account_id,
        kind=kind,
        actor=str(source.actor),
        metadata=redact_json(dict(source.metadata), kinds)[0],
        said=_cleaned(inputs, kinds),
        memories=[UUID(pk) for pk in (*inputs.get("stored", ()), *about)],
        observed_at=source.observed_at or now,
        created_at=now,
        **source.ids(),
    )
    job_key = f"{row.pk}:1"
    events = publish(
        source.account_id, EXTRACT, [Task(job_key=job_key, payload={"extraction": str(row.pk)})]
    )
    reason = "" if chat.configured() else NO_CHAT_MODEL
    return QueuedExtraction(event_id=events[job_key], reason=reason, stored=stored)


def _cleaned(value: Any, kinds: Sequence[str]) -> Any:
    """Texts are cleaned; pictures stay as they are: they are not read as text."""
    if isinstance(value, str):
        return redact_text(value, kinds)
    if isinstance(value, Mapping):
        return {
            name: each if name in ("images", "stored", "entry") else _cleaned(each, kinds)
            for name, each in value.items()
        }
    return [_cleaned(each, kinds) for each in value] if isinstance(value, list) else value
