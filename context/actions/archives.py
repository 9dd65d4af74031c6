"""Keeping tool results: whole, sealed, and found by their words at once."""

from collections.abc import Sequence
from datetime import timedelta
from hashlib import sha256
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone

from context.actions.model_summaries import RETELL_RESULT, at_first, owe_summaries
from context.actions.retention import forget_results
from context.models import ArchiveQuerySet, ContextSettings, ToolResultArchive
from context.models.archive_input import NewResult, sent_sha256
from context.models.archives import COLLECTION
from context.summaries.extractive import query_summary, sources_of, summary
from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM, Actor
from kmapp.accounts.redacted_text import redacted_reason
from kmapp.api.models import IdempotentRequest
from kmapp.ledger.actions import Recording, recording
from kmapp.outbox.actions import Task, publish
from kmapp.outbox.error_scrubbing import silence_errors
from kmapp.pii import redact, redact_json
from kmapp.providers.active import models_in_use
from kmapp.search.actions import (
    Part,
    await_vectors,
    drop_vectors,
    index_terms,
    unindex_terms,
)

EMBED = "context.archive.embed"
ADD = "ADD"
BATCH = 100  # archives a commit of the clean-up
MOST = 5_000  # of one account in one run; the next run goes on
REASON = "Kept for {days} days, as the settings of context say."


def words_of(archive: ToolResultArchive) -> str:
    """The text whose terms are indexed."""
    return "\n".join(
        (archive.tool_name, archive.query_summary, *map(str, archive.sources), archive.result_full)
    )


def keep(
    settings: ContextSettings, actor: Actor, results: Sequence[NewResult]
) -> tuple[list[ToolResultArchive], frozenset[UUID]]:
    """The archives of these results, in order, and which are new. Inside `acting`."""
    try:
        with transaction.atomic():
            return _keep(settings, actor, results)
    except IntegrityError:  # somebody kept one of them between our look and our insert
        return _keep(settings, actor, results)


def _keep(
    settings: ContextSettings, actor: Actor, results: Sequence[NewResult]
) -> tuple[list[ToolResultArchive], frozenset[UUID]]:
    account_id = settings.account_id
    keys = [result.key_in(account_id) for result in results]
    known = ToolResultArchive.objects.of(account_id).in_bulk(list(set(keys)))
    with recording(account_id, actor, reason="kept apart from its conversation") as commit:
        fresh = {
            key: _archive(settings, actor, result, key, commit.id)
            for key, result in zip(keys, results, strict=True)
            if key not in known
        }
        made = sorted(fresh.values(), key=lambda each: each.pk)
        ToolResultArchive.objects.bulk_create(made, batch_size=100)
        commit.add_all(made, ADD)
        index_terms(account_id, COLLECTION, {each.pk: words_of(each) for each in made})
        _owe_vectors(account_id, made, commit)
        owe_summaries(account_id, RETELL_RESULT, [each.pk for each in made])
    return [known.get(key) or fresh[key] for key in keys], frozenset(fresh)


def _archive(
    settings: ContextSettings, actor: Actor, result: NewResult, key: UUID, commit_id: UUID
) -> ToolResultArchive:
    kinds = settings.account.redact
    text = redact(result.text, kinds)[0]
    query = redact(query_summary(result.tool_input), kinds)[0]
    return ToolResultArchive(
        id=key,
        account_id=settings.account_id,
        commit_id=commit_id,
        conversation_id=result.conversation_id,
        thread_id=result.thread_id,
        user_id=result.user_id,
        agent_id=result.agent_id,
        tool_call_id=result.tool_call_id,
        tool_name=result.tool_name,
        tool_input=redact_json(result.tool_input, kinds)[0],
        query_summary=query[:500],
        result_summary=summary(text, query),
        extractive=at_first(),
        result_full=text,
        result_length=len(text),
        sources=list(redact_json(list(result.sources), kinds)[0] or sources_of(text)),
        sha256=sha256(text.encode()).hexdigest(),
        sent_sha256=sent_sha256(settings.account_id, result.text),
        language=result.language or settings.language,
        created_by=str(actor),
        created_at=timezone.now(),
    )


def _owe_vectors(
    account_id: UUID, archives: Sequence[ToolResultArchive], commit: Recording
) -> None:
    if not archives:
        return
    parts = [Part(object_id=each.pk, part=0, text_sha256="") for each in archives]
    for model in models_in_use():
        await_vectors(account_id, COLLECTION, model.pk, parts, is_equal_text=False)
    tasks = [
        Task(job_key=f"{each.pk}:{commit.id}", payload={"archive": str(each.pk)})
        for each in archives
    ]
    publish(account_id, EMBED, tasks)


def outlived(account_id: UUID, days: int | None) -> ArchiveQuerySet:
    """Archives that are older than they are to be kept."""
    rows = ToolResultArchive.objects.of(account_id)
    return rows.older_than(timezone.now() - timedelta(days=days)) if days else rows.none()


def remove_outlived(account_id: UUID, *, most: int = MOST) -> int:
    """Erase what is no longer to be kept. Opens `acting` itself, once for each batch."""
    with acting(account_id):
        days = ContextSettings.objects.here(account_id).retention_days
    removed = 0
    while removed < most and (done := _remove_some(account_id, days)):
        removed += done
    return removed


def _remove_some(account_id: UUID, days: int | None) -> int:
    with acting(account_id):
        rows = outlived(account_id, days).select_for_update(skip_locked=True)
        if some := list(rows[:BATCH]):
            erase(account_id, SYSTEM, some, reason=REASON.format(days=days))
    return len(some)


def erase(
    account_id: UUID, actor: Actor, archives: Sequence[ToolResultArchive], *, reason: str
) -> None:
    """For good: text, postings, vectors, salts. The chain keeps that something was there."""
    with recording(account_id, actor, reason=redacted_reason(account_id, reason)) as commit:
        erase_in(commit, archives)


def erase_in(commit: Recording, archives: Sequence[ToolResultArchive]) -> None:
    """The same as part of a commit, with what calls, answers and errors may quote of them."""
    if not archives:
        return  # what follows looks through all answers and errors of the account
    account_id, ids = commit.account_id, [each.pk for each in archives]
    for each in archives:
        commit.erase(ToolResultArchive._meta.label_lower, each.pk)
    unindex_terms(account_id, COLLECTION, {each.pk: words_of(each) for each in archives})
    drop_vectors(account_id, [COLLECTION], ids)
    ToolResultArchive.objects.of(account_id).filter(pk__in=ids).delete()
    named = [*ids, *forget_results(account_id, archives)]
    IdempotentRequest.objects.of(account_id).naming(named).forget()
    silence_errors(account_id, named)
