"""Summaries by the chat model, in the place of those that were made of a text's own sentences.

Nobody waits for a model: what is summed up has an extractive summary at once, and a worker asks
for a better one. Where none comes, the first stays, and the row says why.
"""

import json
from collections.abc import Callable, Sequence
from uuid import UUID

from django.conf import settings

from context.assembly.messages import Message
from context.models import (
    ContextBody,
    ContextSettings,
    ContextSummary,
    Extractive,
    ToolResultArchive,
)
from context.summaries.extractive import LEAST, MOST
from context.summaries.model_summaries import (
    FORM,
    conversation,
    excerpt,
    of_conversation,
    of_result,
)
from context.summaries.prompts import prompt
from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.ledger.actions import recording
from kmapp.outbox.actions import Task, publish
from kmapp.pii import redact
from kmapp.providers import chat
from kmapp.providers.errors import Refused
from memory.actions.model_requests import InvalidAnswer, request_answer, sanitize_answer
from memory.extraction.conversation import fence_text

RETELL_RESULT = "context.archive.summarise"
RETELL_CONVERSATION = "context.conversation.summarise"
REASON = "The chat model summed it up."
WORDS = 0.7  # of a token
Summed = type[ToolResultArchive] | type[ContextSummary]


def at_first() -> Extractive:
    """Why what is kept now has an extractive summary."""
    return Extractive.WAITING if chat.configured() else Extractive.NO_CHAT_MODEL


def owe_summaries(account_id: UUID, topic: str, ids: Sequence[UUID]) -> None:
    """Have these summed up, where there is a model that can. Inside `acting`."""
    if chat.configured() and ids:
        tasks = [Task(job_key=f"{pk}:1", payload={"id": str(pk)}) for pk in ids]
        publish(account_id, topic, tasks)


def stays_extractive(account_id: UUID, rows: Summed, pk: UUID, why: Extractive) -> None:
    """No model sums it up: say why. Opens `acting` itself."""
    with acting(account_id):
        rows.objects.of(account_id).filter(pk=pk, summary_by="").update(extractive=why)


def retell_result(account_id: UUID, pk: UUID) -> None:
    """Have a tool's result summed up. Opens `acting` itself, and asks the model outside."""
    with acting(account_id):
        row = ToolResultArchive.objects.of(account_id).filter(pk=pk, summary_by="").first()
    if row is None:
        return
    system = prompt("tool_result", least=str(LEAST), most=str(MOST))
    source = excerpt(row.result_full)
    question = [fence_text("question", row.query_summary)] if row.query_summary else []
    said = "\n\n".join([*question, fence_text("text", source)])
    told = _asked(system, said, lambda raw: of_result(raw, system, source))
    if told is None:
        stays_extractive(account_id, ToolResultArchive, pk, Extractive.BAD_ANSWER)
        return
    with acting(account_id):
        kinds = ContextSettings.objects.here(account_id).account.redact
        kept = ToolResultArchive.objects.of(account_id).filter(pk=pk, summary_by="")
        for archive in kept.select_for_update(no_key=True):  # none if it was erased meanwhile
            with recording(account_id, SYSTEM, reason=REASON) as commit:
                archive.result_summary = redact(told, kinds)[0]
                archive.summary_by, archive.extractive = settings.CHAT_MODEL[:200], ""
                archive.commit_id = commit.id
                archive.save()
                commit.add(archive, "UPDATE")


def retell_conversation(account_id: UUID, pk: UUID) -> None:
    """Have the older part of a conversation summed up, from what is kept of it."""
    with acting(account_id):
        row = ContextSummary.objects.of(account_id).filter(pk=pk, summary_by="").first()
        messages = _kept(account_id, row.bodies) if row else []
        wanted = ContextSettings.objects.here(account_id)
    if row is None:
        return
    if not messages:
        stays_extractive(account_id, ContextSummary, pk, Extractive.GONE)
        return
    most = wanted.assembly().summary_tokens
    system = prompt("conversation", most=str(most), words=str(int(WORDS * most)))
    source = conversation(messages)
    said = fence_text("conversation", source)
    told = _asked(system, said, lambda raw: of_conversation(raw, system, source, most))
    if told is None:
        stays_extractive(account_id, ContextSummary, pk, Extractive.BAD_ANSWER)
        return
    with acting(account_id):
        ContextSummary.objects.of(account_id).filter(pk=pk).update(
            text=redact(told, wanted.account.redact)[0],
            summary_by=settings.CHAT_MODEL[:200],
            extractive="",
        )


def _kept(account_id: UUID, bodies: Sequence[UUID]) -> list[Message]:
    """The messages, if all of them are still there."""
    rows = ContextBody.objects.of(account_id).filter(pk__in=set(bodies))
    texts = dict(rows.values_list("pk", "text"))
    there = all(pk in texts for pk in bodies)
    return [json.loads(texts[pk]) for pk in bodies] if there else []


def _asked(system: str, said: str, read: Callable[[str], str]) -> str | None:
    """The model's summary; None where it gives none that can be used."""
    try:
        return sanitize_answer(request_answer(system, said, read, FORM).read)
    except (InvalidAnswer, Refused):
        return None
