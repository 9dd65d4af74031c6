"""Endpoints for conversations and completed tasks, which workers extract memories from."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.accounts.scopes import Scope
from kmapp.api.views import AgentView, parse
from memory.actions.extraction_requests import (
    Kind,
    MessageContext,
    QueuedExtraction,
    enqueue_conversation,
    enqueue_task,
    store_messages,
)
from memory.api.message_input import MessagesField, refuse_unreadable_images
from memory.api.response_types import AddAnswer, AddedMessage
from memory.api.shared_request_serializers import MAX_TEXT_LENGTH, OwnerIds, provided_values
from memory.models import MemoryEntry
from memory.models.entries import OWNER_IDS

PROCEDURAL = "procedural_memory"
MAX_PROMPT_LENGTH = 20_000  # characters


class ExtractionFields(OwnerIds):
    """Fields shared by conversations and tasks."""

    metadata = serializers.DictField(required=False, allow_null=True)
    observed_at = serializers.DateTimeField(
        required=False, allow_null=True, help_text="Time of the message. Default: now."
    )


class AddInput(ExtractionFields):
    """A conversation."""

    messages = MessagesField(help_text="A text, a message, or a list of messages.")
    infer = serializers.BooleanField(
        default=True, help_text="false: store every message unchanged, without a model."
    )
    memory_type = serializers.ChoiceField(
        choices=[PROCEDURAL], required=False, allow_null=True, allow_blank=True
    )
    prompt = serializers.CharField(
        max_length=MAX_PROMPT_LENGTH,
        required=False,
        allow_null=True,
        allow_blank=True,
        help_text=f"For {PROCEDURAL}: prompt that replaces the built-in one.",
    )

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Require the agent for a record of its run."""
        if attrs.get("memory_type") == PROCEDURAL and not attrs.get("agent_id"):
            raise serializers.ValidationError(
                {"agent_id": f"{PROCEDURAL} requires agent_id, the agent whose work it records."}
            )
        return attrs


class Add(AgentView):
    """Add a conversation to memory.

    With `infer` (the default), a worker extracts facts from the messages and compares each with
    existing memories: it is added, it updates or contradicts one of them, or it exists already.
    `/v1/events/{event_id}` reports the result. Without a configured chat model, the messages are
    stored as memories immediately, and their extraction waits until a model is configured. Invalid
    parts of the model's response are left out and listed in `refused`; if no part is valid, nothing
    changes and the event is FAILED.
    """

    scopes = {"POST": Scope.MEMORY_WRITE}
    expires_at: datetime | None = None  # of messages that are stored as they are; for protocols

    def list_options(self) -> Sequence[str]:
        return [self.expires_at.isoformat()] if self.expires_at else []

    @extend_schema(request=AddInput, responses={201: AddAnswer, 202: AddAnswer})
    def post(self, request: Request) -> Response:
        data = parse(AddInput, request)
        messages = data["messages"]
        is_procedural = data.get("memory_type") == PROCEDURAL
        infer = data["infer"] or is_procedural
        refuse_unreadable_images(messages, infer=infer)
        context = _build_message_context(self.account, self.actor, data)
        context = replace(context, expires_at=self.expires_at)
        with acting(self.account):
            if not infer:
                stored = store_messages(context, messages)
                return self.seal(Response(_serialize_answer(stored.entries), status=201))
            if is_procedural:
                queued = enqueue_conversation(
                    context, messages, kind=Kind.PROCEDURE, prompt=data.get("prompt") or ""
                )
            else:
                queued = enqueue_conversation(context, messages)
            return self.seal(Response(serialize_extraction(queued), status=202))


class WorthInput(ExtractionFields):
    """A completed task."""

    task_goal = serializers.CharField(max_length=MAX_TEXT_LENGTH)
    task_result = serializers.CharField(max_length=MAX_TEXT_LENGTH)
    execution_log = serializers.CharField(
        max_length=4 * MAX_TEXT_LENGTH, required=False, allow_blank=True, allow_null=True
    )


class StoreIfWorthwhile(AgentView):
    """Let a model decide whether a completed task taught anything worth storing."""

    scopes = {"POST": Scope.MEMORY_WRITE}

    @extend_schema(request=WorthInput, responses={202: AddAnswer})
    def post(self, request: Request) -> Response:
        data = parse(WorthInput, request)
        context = _build_message_context(self.account, self.actor, data)
        with acting(self.account):
            queued = enqueue_task(
                context,
                goal=data["task_goal"],
                result=data["task_result"],
                log=data.get("execution_log") or "",
            )
            return self.seal(Response(serialize_extraction(queued), status=202))


def _build_message_context(account_id: UUID, actor: Actor, data: dict[str, Any]) -> MessageContext:
    names = (*OWNER_IDS, "scope", "metadata", "observed_at")
    ids = provided_values({name: data.get(name) for name in names})
    return MessageContext(account_id=account_id, actor=actor, **ids)


def serialize_extraction(queued: QueuedExtraction) -> AddAnswer:
    return _serialize_answer(queued.stored, queued)


def _serialize_answer(
    entries: Sequence[MemoryEntry], queued: QueuedExtraction | None = None
) -> AddAnswer:
    status = "PENDING" if queued else "SUCCEEDED"
    results: list[AddedMessage] = [
        {
            "id": entry.pk,
            "event": "ADD",
            "text": entry.content,
            "role": entry.slots.get("role"),
            "status": entry.status,
        }
        for entry in entries
    ]
    return {
        "event_id": queued.event_id if queued else None,
        "status": status,
        "state": status,
        "reason": (queued.reason or None) if queued else None,
        "results": results,
    }
