"""Archiving of tool results: stored completely and indexed immediately; a worker embeds them."""

from collections.abc import Sequence
from datetime import timedelta
from hashlib import sha256
from uuid import UUID

from django.db import IntegrityError, transaction
from django.db.models.fields.json import KeyTextTransform
from django.utils import timezone

from context.actions.erase_from_calls import delete_parts_with_results
from context.actions.model_summaries import SUMMARISE_RESULT, enqueue_summaries, initial_reason
from context.archives.placeholders import TOOL
from context.models import ArchiveQuerySet, ContextSettings, ToolResultArchive
from context.models.archives import COLLECTION, SCOPE_FIELDS, NewResult, sent_sha256
from context.summaries.extractive import extract_sources, summarise_query, summarise_text
from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM, Actor
from kmapp.accounts.pii_redaction import redact_reason
from kmapp.api.models import IdempotentRequest
from kmapp.database.erasure_locks import lock_for_erasure, lock_remaining
from kmapp.database.steady_clock import SteadyTime
from kmapp.ledger.actions import Recording, recording
from kmapp.outbox.failed_deliveries import clear_error_messages
from kmapp.outbox.publish import NewJob, publish
from kmapp.providers.active_models import models_in_use
from kmapp.search.vector_storage import TextPart, await_vectors, drop_vectors
from kmapp.search.word_index import index_documents, remove_documents
from kmapp.security.pii import redact, redact_json

EMBED = "context.archive.embed"
BATCH = 100  # archives per commit of the clean-up
MAX_PER_RUN = 5_000  # archives of one account; the next run continues
REASON = "Retention of {days} days, set in the context settings."


def indexed_text(archive: ToolResultArchive) -> str:
    return "\n".join(
        (archive.tool_name, archive.query_summary, *map(str, archive.sources), archive.result_full)
    )


def store_archives(
    settings: ContextSettings, actor: Actor, results: Sequence[NewResult]
) -> tuple[list[ToolResultArchive], frozenset[UUID]]:
    """Return the archives of these results, in order, and the ids of new ones. Inside `acting`.

    None of them can be erased until the transaction ends.
    """
    try:
        with transaction.atomic():
            return _store_archives(settings, actor, results)
    except IntegrityError:  # another request stored one of them in the meantime
        return _store_archives(settings, actor, results)


def _store_archives(
    settings: ContextSettings, actor: Actor, results: Sequence[NewResult]
) -> tuple[list[ToolResultArchive], frozenset[UUID]]:
    account_id = settings.account_id
    keys = [result.key_in(account_id) for result in results]
    existing = ToolResultArchive.objects.of(account_id).in_bulk(list(set(keys)))
    if existing:  # results whose archive is being erased are archived again
        remaining = lock_remaining(account_id, {ToolResultArchive: list(existing)})
        existing = {pk: row for pk, row in existing.items() if pk in remaining}
    with recording(account_id, actor, reason="archived from its conversation") as commit:
        fresh = {
            key: _build_archive(settings, actor, result, key, commit.id)
            for key, result in zip(keys, results, strict=True)
            if key not in existing
        }
        created = sorted(fresh.values(), key=lambda archive: archive.pk)
        ToolResultArchive.objects.bulk_create(created, batch_size=100)
        commit.add_all(created, "ADD")
        index_documents(account_id, COLLECTION, {row.pk: indexed_text(row) for row in created})
        _enqueue_embeddings(account_id, created, commit)
        enqueue_summaries(account_id, SUMMARISE_RESULT, [row.pk for row in created], commit.id)
    return [existing.get(key) or fresh[key] for key in keys], frozenset(fresh)


def _build_archive(
    settings: ContextSettings, actor: Actor, result: NewResult, key: UUID, commit_id: UUID
) -> ToolResultArchive:
    kinds = settings.account.redact
    text = redact(result.text, kinds)[0]
    query = redact(summarise_query(result.tool_input), kinds)[0]
    return ToolResultArchive(
        id=key,
        account_id=settings.account_id,
        commit_id=commit_id,
        **{name: getattr(result, name) for name in ("agent_id", "tool_call_id", "tool_name")},
        **{name: getattr(result, name) for name in SCOPE_FIELDS},
        tool_input=redact_json(result.tool_input, kinds)[0],
        query_summary=query[:500],
        result_summary=summarise_text(text, query),
        extractive=initial_reason(),
        result_full=text,
        result_length=len(text),
        sources=list(redact_json(list(result.sources), kinds)[0] or extract_sources(text)),
        sha256=sha256(text.encode()).hexdigest(),
        sent_sha256=sent_sha256(settings.account_id, result.text),
        language=result.language or settings.language,
        created_by=str(actor),
        created_at=timezone.now(),
    )


def _enqueue_embeddings(
    account_id: UUID, archives: Sequence[ToolResultArchive], commit: Recording
) -> None:
    if not archives:
        return
    parts = [TextPart(object_id=row.pk, part=0, text_sha256="") for row in archives]
    for model in models_in_use():
        await_vectors(account_id, COLLECTION, model.pk, parts, is_equal_text=False)
    payloads = {f"{row.pk}:{commit.id}": {"archive": str(row.pk)} for row in archives}
    publish(account_id, EMBED, [NewJob(job_key=key, payload=payloads[key]) for key in payloads])


def expired_archives(account_id: UUID, days: int | None) -> ArchiveQuerySet:
    rows = ToolResultArchive.objects.of(account_id)
    return rows.older_than(SteadyTime() - timedelta(days=days)) if days else rows.none()


def remove_expired_archives(account_id: UUID) -> int:
    """Erase expired archives. Opens `acting` itself, once for each batch."""
    with acting(account_id):
        days = ContextSettings.objects.get_or_default(account_id).retention_days
    removed = 0
    while removed < MAX_PER_RUN and (done := _remove_batch(account_id, days)):
        removed += done
    return removed


def _remove_batch(account_id: UUID, days: int | None) -> int:
    with acting(account_id):  # skips archives that are in use
        rows = expired_archives(account_id, days).select_for_update(skip_locked=True)
        batch = list(rows[:BATCH])
    if batch:
        # Without the locks: the erasure locks copies as well, and all of them in the order of ids.
        with acting(account_id):
            erase_archives(account_id, SYSTEM, batch, reason=REASON.format(days=days))
    return len(batch)


def erase_archives(
    account_id: UUID, actor: Actor, archives: Sequence[ToolResultArchive], *, reason: str
) -> None:
    """Erase archives with their index and vectors. The ledger keeps the digests."""
    with recording(account_id, actor, reason=redact_reason(account_id, reason)) as commit:
        erase_archives_in(commit, archives)


def erase_archives_in(commit: Recording, archives: Sequence[ToolResultArchive]) -> None:
    """Erase archives as part of a commit, and quotes of them in calls, responses and errors."""
    if not archives:
        return  # the rest scans all stored responses and errors of the account
    account_id = commit.account_id
    rows = _add_copies(account_id, archives)
    # All at once, in the order of ids. Another erasure may have erased some of them meanwhile.
    remaining = lock_for_erasure(account_id, {ToolResultArchive: list(rows)})
    archives = [archive for pk, archive in rows.items() if pk in remaining]
    if not archives:
        return
    ids = [archive.pk for archive in archives]
    for archive in archives:
        commit.erase(ToolResultArchive._meta.label_lower, archive.pk)
    remove_documents(account_id, [COLLECTION], ids)
    drop_vectors(account_id, [COLLECTION], ids)
    ToolResultArchive.objects.of(account_id).filter(pk__in=ids).delete()
    ids += delete_parts_with_results(account_id, archives)
    IdempotentRequest.objects.of(account_id).naming(ids).erase_responses()
    clear_error_messages(account_id, ids)


def _add_copies(
    account_id: UUID, archives: Sequence[ToolResultArchive]
) -> dict[UUID, ToolResultArchive]:
    """Return these archives and those of texts that were loaded from them, by id.

    Archives of another person, who cannot load these archives, stay.
    """
    loads = ToolResultArchive.objects.of(account_id).filter(tool_name=TOOL)
    rows = {row.pk: row for row in archives}
    new = dict(rows)
    while new:
        copies = loads.filter(tool_input__uuid__in=list(map(str, new))).exclude(pk__in=list(rows))
        sources = copies.annotate(source=KeyTextTransform("uuid", "tool_input"))
        new = {
            row.pk: row
            for row in sources
            if not row.user_id or rows[UUID(row.source)].user_id in ("", row.user_id)  # type: ignore[attr-defined]
        }
        rows |= new
    return rows
