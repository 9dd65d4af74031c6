"""Summaries by the chat model, which replace extractive summaries.

No request waits for the model: an extractive summary exists at once, and a worker requests a better
one. If that fails, the extractive summary stays and the row states the reason.
"""

import json
from collections.abc import Callable, Sequence
from functools import partial
from uuid import UUID

from django.conf import settings

from context.assembly.messages import Message
from context.models import (
    ContextBody,
    ContextSettings,
    ContextSummary,
    ExtractiveReason,
    ToolResultArchive,
)
from context.summaries.extractive import MAX_LENGTH, MIN_LENGTH
from context.summaries.prompts import prompt
from context.summaries.summary_requests import (
    RESPONSE_SCHEMA,
    parse_conversation_summary,
    parse_result_summary,
    render_conversation,
    take_excerpt,
)
from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.ledger.actions import recording
from kmapp.outbox.publish import NewJob, publish
from kmapp.providers import chat
from kmapp.providers.errors import Refused
from kmapp.security.pii import redact
from memory.actions.model_requests import InvalidAnswer, request_answer, sanitize_answer
from memory.extraction.conversation import fence_text

SUMMARISE_RESULT = "context.archive.summarise"
SUMMARISE_CONVERSATION = "context.conversation.summarise"
REASON = "The chat model summed it up."
WORDS_PER_TOKEN = 0.7
Summarised = type[ToolResultArchive] | type[ContextSummary]


def initial_reason() -> ExtractiveReason:
    return ExtractiveReason.WAITING if chat.is_configured() else ExtractiveReason.NO_CHAT_MODEL


def enqueue_summaries(account_id: UUID, topic: str, ids: Sequence[UUID], cause: object = 1) -> None:
    """Enqueue summaries if a chat model is configured. Inside `acting`.

    `cause` distinguishes a row from an erased one with the same id.
    """
    if chat.is_configured() and ids:
        new_jobs = [NewJob(job_key=f"{pk}:{cause}", payload={"id": str(pk)}) for pk in ids]
        publish(account_id, topic, new_jobs)


def record_failure(account_id: UUID, rows: Summarised, pk: UUID, reason: ExtractiveReason) -> None:
    """Record why no model wrote the summary. Opens `acting` itself."""
    with acting(account_id):
        rows.objects.of(account_id).filter(pk=pk, summary_by="").update(extractive=reason)


def summarise_result(account_id: UUID, pk: UUID) -> None:
    """Summarise a tool result. Opens `acting` itself, and calls the model outside."""
    with acting(account_id):
        row = ToolResultArchive.objects.of(account_id).filter(pk=pk, summary_by="").first()
    if row is None:
        return
    system = prompt("tool_result", least=str(MIN_LENGTH), most=str(MAX_LENGTH))
    source = take_excerpt(row.result_full)
    question = [fence_text("question", row.query_summary)] if row.query_summary else []
    user_prompt = "\n\n".join([*question, fence_text("text", source)])
    parse = partial(parse_result_summary, prompt=system, source=source)
    summary = _request_summary(system, user_prompt, parse)
    if summary is None:
        record_failure(account_id, ToolResultArchive, pk, ExtractiveReason.BAD_ANSWER)
        return
    with acting(account_id):
        kinds = ContextSettings.objects.get_or_default(account_id).account.redact
        rows = ToolResultArchive.objects.of(account_id).filter(pk=pk, summary_by="")
        # Empty if it was erased in the meantime.
        for archive in rows.select_for_update(no_key=True):
            with recording(account_id, SYSTEM, reason=REASON) as commit:
                archive.result_summary = redact(summary, kinds)[0]
                archive.summary_by, archive.extractive = settings.CHAT_MODEL[:200], ""
                archive.commit_id = commit.id
                archive.save()
                commit.add(archive, "UPDATE")


def summarise_conversation(account_id: UUID, pk: UUID) -> None:
    """Summarise the older part of a conversation from its stored messages."""
    with acting(account_id):
        rows = ContextSummary.objects.of(account_id).exclude(text="")  # expired ones
        row = rows.filter(pk=pk, summary_by="").first()
        messages = _load_messages(account_id, row.bodies) if row else []
        settings_row = ContextSettings.objects.get_or_default(account_id)
    if row is None:
        return
    if not messages:
        record_failure(account_id, ContextSummary, pk, ExtractiveReason.GONE)
        return
    max_tokens = settings_row.assembly_policy().summary_tokens
    system = prompt(
        "conversation", most=str(max_tokens), words=str(int(WORDS_PER_TOKEN * max_tokens))
    )
    source = render_conversation(messages)
    parse = partial(parse_conversation_summary, prompt=system, source=source, max_tokens=max_tokens)
    summary = _request_summary(system, fence_text("conversation", source), parse)
    if summary is None:
        record_failure(account_id, ContextSummary, pk, ExtractiveReason.BAD_ANSWER)
        return
    with acting(account_id):
        rows.filter(pk=pk).update(
            text=redact(summary, settings_row.account.redact)[0],
            summary_by=settings.CHAT_MODEL[:200],
            extractive="",
        )


def _load_messages(account_id: UUID, bodies: Sequence[UUID]) -> list[Message]:
    """Return the messages, or an empty list if one of them is gone."""
    rows = ContextBody.objects.of(account_id).filter(pk__in=set(bodies))
    texts = dict(rows.values_list("pk", "text"))
    complete = all(pk in texts for pk in bodies)
    return [json.loads(texts[pk]) for pk in bodies] if complete else []


def _request_summary(system: str, user_prompt: str, read: Callable[[str], str]) -> str | None:
    """Return the model's summary; None if its response is not usable."""
    try:
        return sanitize_answer(request_answer(system, user_prompt, read, RESPONSE_SCHEMA).value)
    except (InvalidAnswer, Refused):
        return None
