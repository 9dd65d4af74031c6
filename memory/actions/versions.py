"""A memory's states: each is kept as its commit sealed it, and the next is made from the last."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.utils import timezone

from kmapp.accounts.actors import Actor
from kmapp.errors import Conflict, Gone, NotFound
from kmapp.ledger.actions import Recording, recording
from kmapp.ledger.canonical import canonical
from kmapp.ledger.models import Commit
from kmapp.prompt_injection import detect_flags
from kmapp.search.actions import drop_vectors, index_terms
from memory.actions.enqueue import (
    enqueue_edge_derivation,
    enqueue_embeddings,
    enqueue_ordering,
    enqueue_triage,
)
from memory.models import ErasedEntry, MemoryEntry, MemoryVersion
from memory.models.entries import COLLECTION, CONTEXT_COLLECTION
from memory.retrieval.indexed_text import words_of

Event = MemoryVersion.Event


def record_versions(
    entries: Iterable[MemoryEntry],
    commit: Recording,
    actor: Actor,
    reason: str,
    event: str = Event.ADD,
) -> None:
    """Keep each entry's state as this commit seals it."""
    MemoryVersion.objects.bulk_create(
        [build_version(entry, commit, actor, reason, event) for entry in entries], batch_size=500
    )


def build_version(
    entry: MemoryEntry, commit: Recording, actor: Actor, reason: str, event: str = Event.ADD
) -> MemoryVersion:
    return MemoryVersion(
        account_id=entry.account_id,
        entry_id=entry.pk,
        version=entry.version,
        event=event,
        state=json.loads(canonical(entry.body())),
        actor=str(actor),
        reason=reason,
        created_at=entry.updated_at,
        commit_id=commit.id,
    )


def lock_entry(account_id: UUID, entry_id: UUID, version: int | None = None) -> MemoryEntry:
    """Lock an entry until the transaction ends; with a version, only if it is current."""
    entry = (
        MemoryEntry.objects.of(account_id)
        .select_for_update(no_key=True, of=("self",))
        .filter(pk=entry_id)
        .first()
    )
    if entry is None:
        if ErasedEntry.objects.of(account_id).filter(pk=entry_id).exists():
            raise Gone("This memory was erased.")
        raise NotFound("There is no such memory.")
    if version is not None and entry.version != version:
        raise stale_version_error(entry)
    return entry


def stale_version_error(entry: MemoryEntry) -> Conflict:
    """Whoever decided had seen another version."""
    return Conflict(
        f"Somebody changed this memory first: it is at version {entry.version} now.",
        code="stale_version",
        details={"version": entry.version},
    )


def update_entry(
    entry: MemoryEntry,
    *,
    actor: Actor,
    event: str,
    reason: str = "",
    values: Mapping[str, Any],
    commit: Recording | None = None,
) -> Commit | None:
    """Give a locked entry new values, as its next version; in a commit of its own or this one."""
    if commit is None:
        with recording(entry.account_id, actor, reason=reason) as own:
            update_entry(entry, actor=actor, event=event, reason=reason, values=values, commit=own)
        return own.commit
    before = _Former(words=words_of(entry), status=entry.status, is_cold=entry.is_cold)
    for name, value in values.items():
        setattr(entry, name, value)
    if {"title", "content"} & values.keys():
        entry.flags = detect_flags(f"{entry.title}\n{entry.content}")
    entry.version += 1
    entry.updated_at = timezone.now()
    entry.commit_id = commit.id
    entry.save(update_fields={*values, "flags", "version", "updated_at", "commit"})
    commit.add(entry, event)
    record_versions([entry], commit, actor, reason, event)
    _follow_up(entry, before, commit.id)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Former:
    """What an entry was before a change, as far as others hang on it."""

    words: str
    status: str
    is_cold: bool


def _follow_up(entry: MemoryEntry, before: _Former, commit_id: UUID) -> None:
    """Index what reads otherwise, and owe what workers do about the change."""
    words = words_of(entry)
    reworded, restated = words != before.words, entry.status != before.status
    if entry.status == MemoryEntry.Status.PROPOSED and (reworded or restated):
        enqueue_triage(entry.account_id, [entry.pk], commit_id)
    if reworded:
        index_terms(
            entry.account_id, COLLECTION, {entry.pk: words}, before={entry.pk: before.words}
        )
    if entry.is_cold and not before.is_cold:
        drop_vectors(entry.account_id, [COLLECTION, CONTEXT_COLLECTION], [entry.pk])
    if reworded or (before.is_cold and not entry.is_cold):
        enqueue_embeddings(entry.account_id, [entry], commit_id)
    elif entry.run_id and restated:
        enqueue_ordering(entry.account_id, [entry], commit_id)
    elif restated and entry.status == MemoryEntry.Status.ACTIVE:
        enqueue_edge_derivation(entry.account_id, [entry.pk], commit_id)
