"""Versions of memories. Each version stores the state that its commit sealed."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.accounts.actors import SYSTEM
from kmapp.database.bulk_insert import (
    EncodedJson,
    NewRows,
    build_insert_sql,
    encode_rows,
    insert_rows,
    mark_inserted,
)
from kmapp.database.ids import uuid7
from kmapp.database.psycopg_cursors import prepared_cursor
from kmapp.ledger.actions import Recording, encode_bodies
from kmapp.ledger.canonical import encode_canonical
from kmapp.ledger.read_verification import require_sealed
from kmapp.notifications.webhooks.actions import enqueue_reports, report_changes
from kmapp.notifications.webhooks.models import Webhook
from kmapp.search.vector_storage import drop_vectors
from kmapp.search.word_index import index_documents
from kmapp.security.prompt_injection import detect_flags
from memory.actions.follow_up_jobs import (
    TRIAGE,
    WEBHOOK_SOURCE,
    enqueue_edge_derivation,
    enqueue_embeddings,
    enqueue_entries,
    enqueue_ordering,
)
from memory.models import MemoryEntry, MemoryVersion, Triage
from memory.models.entries import COLLECTION, CONTEXT_COLLECTION
from memory.retrieval.indexed_text import build_indexed_text

Event = MemoryVersion.Event


def record_versions(
    entries: Iterable[MemoryEntry],
    commit: Recording,
    reason: str,
    event: str = Event.ADD,
    *,
    at: datetime | None = None,
) -> None:
    """Store the versions of these entries, written `at` this time or when they were updated."""
    versions = [build_version(entry, commit, reason, event) for entry in entries]
    if at:
        for version in versions:
            version.created_at = at
    insert_rows(versions)
    report_changes(commit.account_id, WEBHOOK_SOURCE, [version.pk for version in versions])


# A version is inserted only if its entry was. The statement also returns the active webhooks.
_INSERT_NEW = f"""
WITH inserted_entries AS ({build_insert_sql(MemoryEntry)} ON CONFLICT DO NOTHING RETURNING id),
versions AS ({build_insert_sql(MemoryVersion)} WHERE entry_id IN (SELECT id FROM inserted_entries))
SELECT id, (
  SELECT array_agg(webhook.id) FROM {Webhook._meta.db_table} webhook
  WHERE webhook.account_id = %s::uuid AND webhook.is_active
) FROM inserted_entries
"""  # noqa: S608 - names of tables and columns


def insert_new_entries(entries: Iterable[MemoryEntry], commit: Recording, reason: str) -> set[UUID]:
    """Insert entries with their first versions, and seal them in the commit. Return their ids.

    An entry whose id or client id another writer has used is left out. The rows are in the order of
    ids, so that two batches with the same ids wait and do not deadlock.
    """
    rows = sorted(entries, key=lambda entry: entry.pk)
    if not rows:
        return set()
    bodies = encode_bodies(rows)
    versions = collect_first_versions(rows, bodies, commit, reason)
    values: list[Any] = [*encode_rows(rows), *encode_rows(versions), commit.account_id]
    with prepared_cursor() as cursor:
        cursor.execute(_INSERT_NEW, values)
        webhooks = dict(cursor.fetchall())
    inserted = set(webhooks)
    for entry, body in zip(rows, bodies, strict=True):
        if entry.pk in inserted:
            mark_inserted(entry)
            commit.add(entry, Event.ADD, body)
    if receivers := next(iter(webhooks.values()), None):
        ids = zip(versions.columns["id"], versions.columns["entry_id"], strict=True)
        references = [version_id for version_id, entry_id in ids if entry_id in inserted]
        enqueue_reports(commit.account_id, receivers, WEBHOOK_SOURCE, references)
    return inserted


def collect_first_versions(
    entries: Sequence[MemoryEntry], bodies: Sequence[bytes], commit: Recording, reason: str
) -> NewRows:
    """Return what `build_version` returns for each new entry, by column."""
    shared = {
        "account_id": commit.account_id,
        "commit_id": commit.id,
        "actor": str(commit.actor),
        "reason": reason,
        "event": Event.ADD,
    }
    return NewRows(
        MemoryVersion,
        {
            "id": [uuid7() for _ in entries],
            "entry_id": [entry.pk for entry in entries],
            "state": [EncodedJson(body.decode()) for body in bodies],
            "version": [entry.version for entry in entries],
            "created_at": [entry.updated_at for entry in entries],
            **{name: [value] * len(entries) for name, value in shared.items()},
        },
    )


def build_version(
    entry: MemoryEntry, commit: Recording, reason: str, event: str = Event.ADD
) -> MemoryVersion:
    return MemoryVersion(
        account_id=entry.account_id,
        entry_id=entry.pk,
        version=entry.version,
        event=event,
        state=json.loads(encode_canonical(entry.body())),
        actor=str(commit.actor),
        reason=reason,
        created_at=entry.updated_at,
        commit_id=commit.id,
    )


def update_entry(
    entry: MemoryEntry,
    event: str,
    values: Mapping[str, Any],
    commit: Recording,
    *,
    reason: str | None = None,
) -> None:
    """Give a locked entry new values as its next version; `reason` defaults to the commit's.

    A new title or text from an agent unpins the entry, because a person confirmed the former one.
    A tier that the product changes is no update, because it must not renew the retention.
    Raise Conflict if the account verifies rows on read and the entry differs from its seal.
    """
    _require_sealed(entry, commit)
    before_words, before_status, was_cold = build_indexed_text(entry), entry.status, entry.is_cold
    before_text = entry.title, entry.content
    for name, value in values.items():
        setattr(entry, name, value)
    if {"title", "content"} & values.keys():
        entry.flags = detect_flags(f"{entry.title}\n{entry.content}")
        if commit.actor.kind == "key" and (entry.title, entry.content) != before_text:
            entry.pinned = False
    now = timezone.now()
    entry.version += 1
    if commit.actor != SYSTEM or {*values} != {"tier"}:
        entry.updated_at = now
    entry.commit_id = commit.id
    entry.save(update_fields={*values, "flags", "pinned", "version", "updated_at", "commit"})
    commit.add(entry, event)
    record_versions([entry], commit, commit.reason if reason is None else reason, event, at=now)
    _update_derived(entry, before_words, before_status, commit.id, was_cold=was_cold)


def _require_sealed(entry: MemoryEntry, commit: Recording) -> None:
    """Refuse a row that someone changed in the database, because a new seal would hide that."""
    if entry.commit_id == commit.id or not getattr(entry, "verify_on_read", False):
        return
    require_sealed(
        [entry],
        _(
            "This memory differs from its sealed state, so it cannot be changed. Restore its row "
            "in the database, or erase the memory."
        ),
    )


def _update_derived(
    entry: MemoryEntry, before_words: str, before_status: str, commit_id: UUID, *, was_cold: bool
) -> None:
    """Index changed words, and enqueue the jobs that follow from the change."""
    words = build_indexed_text(entry)
    text_changed, status_changed = words != before_words, entry.status != before_status
    if entry.status == MemoryEntry.Status.PROPOSED:
        if not (text_changed or status_changed):  # its findings still hold
            triage = Triage.objects.of(entry.account_id).filter(entry=entry)
            triage.filter(version=entry.version - 1).update(version=entry.version)
        # Enqueued in both cases, because a running triage is about the previous version.
        enqueue_entries(entry.account_id, TRIAGE, [entry.pk], commit_id)
    if text_changed:
        index_documents(entry.account_id, COLLECTION, {entry.pk: words})
    if entry.is_cold and not was_cold:
        drop_vectors(entry.account_id, [COLLECTION, CONTEXT_COLLECTION], [entry.pk])
    if text_changed or (was_cold and not entry.is_cold):
        enqueue_embeddings(entry.account_id, [entry], commit_id)
    elif entry.run_id and status_changed:
        enqueue_ordering(entry.account_id, [entry], commit_id)
    elif status_changed and entry.status == MemoryEntry.Status.ACTIVE:
        enqueue_edge_derivation(entry.account_id, [entry.pk], commit_id)
