"""A memory's states: each is kept as its commit sealed it, and the next is made from the last."""

import json
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django.utils import timezone

from kmapp.accounts.actors import Actor
from kmapp.errors import Conflict, Gone, NotFound
from kmapp.ledger.actions import Recording, recording
from kmapp.ledger.canonical import canonical
from kmapp.ledger.models import Commit
from kmapp.redaction import flags
from kmapp.search.actions import index_terms
from memory.actions.owed import owe_order, owe_triage, owe_vectors
from memory.models import ErasedEntry, MemoryEntry, MemoryVersion
from memory.models.entries import COLLECTION
from memory.texts import words_of

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
        [version_of(entry, commit, actor, reason, event) for entry in entries], batch_size=500
    )


def version_of(
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


def locked(account_id: UUID, entry_id: UUID, version: int | None = None) -> MemoryEntry:
    """An entry, held until the transaction ends; with a version, only if it is still that one."""
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
        raise stale(entry)
    return entry


def stale(entry: MemoryEntry) -> Conflict:
    """Whoever decided had seen another version."""
    return Conflict(
        f"Somebody changed this memory first: it is at version {entry.version} now.",
        code="stale_version",
        details={"version": entry.version},
    )


def change(
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
            change(entry, actor=actor, event=event, reason=reason, values=values, commit=own)
        return own.commit
    before, was = words_of(entry), entry.status
    for name, value in values.items():
        setattr(entry, name, value)
    if {"title", "content"} & values.keys():
        entry.flags = flags(f"{entry.title}\n{entry.content}")
    entry.version += 1
    entry.updated_at = timezone.now()
    entry.commit_id = commit.id
    entry.save(update_fields={*values, "flags", "version", "updated_at", "commit"})
    commit.add(entry, event)
    record_versions([entry], commit, actor, reason, event)
    reworded = words_of(entry) != before
    if entry.status == MemoryEntry.Status.PROPOSED and (reworded or entry.status != was):
        owe_triage(entry.account_id, [entry.pk], commit.id)
    if reworded:
        texts = {entry.pk: words_of(entry)}
        index_terms(entry.account_id, COLLECTION, texts, before={entry.pk: before})
        owe_vectors(entry.account_id, [entry], commit.id)
    elif entry.run_id and entry.status != was:
        owe_order(entry.account_id, [entry], commit.id)
    return None
