"""Writing of new memories. See `memory.actions.record_versions` for changes."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction
from django.utils import timezone

from kmapp.accounts.actors import Actor
from kmapp.accounts.models import Account
from kmapp.accounts.pii_redaction import redact_text
from kmapp.api.batch_node_registry import HostedNode, write_nodes
from kmapp.database.ids import uuid7
from kmapp.database.raw_sql import build_row
from kmapp.errors import Conflict, Invalid
from kmapp.ledger.actions import Recording, recording
from kmapp.ledger.models import Commit
from kmapp.security.prompt_injection import detect_flags
from memory.actions.edges import write_edges
from memory.actions.entry_locks import lock_entry
from memory.actions.existing_entries import find_existing, find_identical, share_keys
from memory.actions.follow_up_jobs import index_new_entries
from memory.actions.quotas import enforce_quotas
from memory.actions.record_versions import insert_new_entries
from memory.actions.review import Decision
from memory.models import MemoryEdge, MemoryEntry, MemorySettings
from memory.models.entry_input import (
    SHARED_FIELDS,
    Batch,
    EdgeEnd,
    NewEdge,
    NewEntry,
    compute_digests,
)

Status = MemoryEntry.Status
NAME_BASED_UUID_VERSION = 5  # the version of UUIDs that are digests
# Fields that a proposal copies from the memory that it would supersede.
COPIED_FIELDS = (*SHARED_FIELDS, "visibility", "observed_at")
RENAMED = {"content": "text", "slots": "metadata"}
MAX_ATTEMPTS = 3  # two writers of one client id collide at most once


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteResult:
    """Rows of a write in the order of its batch. If all existed, `commit` is their first commit."""

    entries: Sequence[MemoryEntry]
    edges: Sequence[MemoryEdge]
    created_ids: frozenset[UUID]  # ids of rows that did not exist before
    commit: Commit | None
    embedding_events: Sequence[UUID]  # one event for each entry that needs a vector
    account_id: UUID
    hosted_nodes: Mapping[int, HostedNode]  # by position in the batch


def write_batch(*, account_id: UUID, actor: Actor, batch: Batch) -> WriteResult:
    """Write a batch as a whole or not at all. Writing the same client ids again changes nothing."""
    if not (batch.edges or batch.hosted_nodes):
        return _write(account_id, actor, batch)  # entries alone raise no IntegrityError
    for _ in range(MAX_ATTEMPTS):
        with suppress(IntegrityError), transaction.atomic():
            return _write(account_id, actor, batch)
    raise _used_ids_error()


def _resolve_ids(account_id: UUID, batch: Batch) -> tuple[list[NewEntry], list[UUID]]:
    drafts = [
        draft if draft.scope or not batch.scope else replace(draft, scope=batch.scope)
        for draft in batch.entries
    ]
    return drafts, [draft.resolve_id(account_id) for draft in drafts]


def _write(account_id: UUID, actor: Actor, batch: Batch) -> WriteResult:
    settings = MemorySettings.objects.get_or_default(account_id)
    kinds, stored_input = settings.account.redact, batch.input
    reason = redact_text(batch.reason, kinds)
    if isinstance(stored_input, str):
        stored_input = redact_text(stored_input, kinds)
    with recording(account_id, actor, input=stored_input, reason=reason) as commit:
        written = write_within_commit(commit, batch, settings)
    if commit.commit:
        return replace(written, commit=commit.commit)
    # All rows existed: the result names the commit in which they were first written.
    written_in = {entry.written_in for entry in written.entries}
    written_in |= {node.written_in for node in written.hosted_nodes.values()}
    first = Commit.objects.of(account_id).filter(pk__in=written_in).order_by("seq").first()
    return replace(written, commit=first)


def write_within_commit(
    commit: Recording, batch: Batch, settings: MemorySettings | None = None
) -> WriteResult:
    account_id, actor = commit.account_id, commit.actor
    settings = settings or MemorySettings.objects.get_or_default(account_id)
    drafts, keys = _resolve_ids(account_id, batch)
    _refuse_duplicate_ids(drafts, keys)
    existing = find_existing(account_id, drafts, keys)
    _refuse_foreign_ids(drafts, keys, existing)
    if batch.dedupe:
        keys = share_keys(drafts, keys)
        existing |= find_identical(settings, actor, drafts, keys)
    positions: dict[UUID, int] = {}  # of new entries
    for position, key in enumerate(keys):
        if key not in existing:
            positions.setdefault(key, position)
    digests = compute_digests([drafts[position] for position in positions.values()])
    new_entries = {
        key: _build_entry(commit, settings, drafts[position], key, position, sha256)
        for (key, position), sha256 in zip(positions.items(), digests, strict=True)
    }
    for entry in new_entries.values() if batch.status else ():
        entry.status = batch.status
    enforce_quotas(settings, actor, list(new_entries.values()))
    reason = redact_text(batch.reason, settings.account.redact)
    inserted = insert_new_entries(new_entries.values(), commit, reason)
    refused = new_entries.keys() - inserted
    if other := [i for i, key in enumerate(keys) if key in refused]:
        # Other writers have inserted these ids meanwhile.
        existing |= find_existing(account_id, [drafts[i] for i in other], [keys[i] for i in other])
        new_entries = {key: entry for key, entry in new_entries.items() if key in inserted}
        if any(keys[i] not in existing for i in other):
            raise _used_ids_error()  # by another account, whose memories are invisible
    entries = [existing.get(key) or new_entries[key] for key in keys]
    edges = write_edges(account_id, batch, entries, new_entries, commit)
    hosted_nodes = write_nodes(batch.hosted_nodes, settings.account, batch.scope, commit)
    created = list(new_entries.values())
    to_embed = list(dict.fromkeys(entries)) if batch.reembed else created
    queued = index_new_entries(account_id, created, to_embed if batch.embed else [], commit.id)
    return WriteResult(
        entries=entries,
        edges=edges,
        created_ids=frozenset(new_entries)
        | {edge.pk for edge in edges if edge.commit_id == commit.id}
        | {node.id for node in hosted_nodes.values() if node.is_new},
        commit=commit.commit,
        embedding_events=queued,
        account_id=account_id,
        hosted_nodes=hosted_nodes,
    )


def _used_ids_error() -> Conflict:
    return Conflict(
        "An id of this request is in use, or other requests keep writing the same client_ids. "
        "Send other ones."
    )


def _refuse_duplicate_ids(drafts: Sequence[NewEntry], keys: Sequence[UUID]) -> None:
    if len(set(keys)) < len(keys):
        raise Invalid(
            "The same client_id or id occurs twice in this batch: send each entry once.",
            code="duplicate_client_id_in_batch",
            issues=[
                {"path": f"nodes.{i}", "message": f"{drafts[i].client_id or keys[i]} again"}
                for i in [i for i, key in enumerate(keys) if key in keys[:i]]
            ],
        )


def _refuse_foreign_ids(
    drafts: Sequence[NewEntry], keys: Sequence[UUID], existing: Mapping[UUID, MemoryEntry]
) -> None:
    """Refuse an id that does not match its client id, or that looks derived from one.

    Ids of client ids are derived from the account and the name (UUIDv5): a caller who could choose
    one could occupy the id of another account's memory before it is written.
    """
    issues = []
    for i, (draft, key) in enumerate(zip(drafts, keys, strict=True)):
        own = existing[key].pk if key in existing else key
        if draft.client_id and draft.id not in (None, own):
            issues.append({"path": f"nodes.{i}.id", "message": "is not the id of this client_id"})
        elif draft.id and not draft.client_id and draft.id.version == NAME_BASED_UUID_VERSION:
            issues.append({"path": f"nodes.{i}.id", "message": "is a version 5 UUID: use 4 or 7"})
    if issues:
        raise Invalid("Send a client_id, or a random id (UUID version 4 or 7).", issues=issues)


def _build_entry(
    commit: Recording,
    settings: MemorySettings,
    draft: NewEntry,
    key: UUID,
    position: int,
    sha256: str,
) -> MemoryEntry:
    now = timezone.now()
    draft = draft.redacted(settings.account.redact)
    visibility = draft.resolve_visibility()
    is_proposal = needs_review(settings, commit.actor, visibility, draft.kind)
    values = {
        "id": key,
        "account_id": settings.account_id,
        "commit_id": commit.id,
        "written_in": commit.id,
        "client_id": draft.client_id or None,
        "written_sha256": sha256,
        "visibility": visibility,
        "content": draft.text,
        "slots": dict(draft.metadata),
        "flags": detect_flags(f"{draft.title}\n{draft.text}"),
        "status": Status.PROPOSED if is_proposal else Status.ACTIVE,
        "observed_at": draft.observed_at or now,
        "position": position,
        "created_by": str(commit.actor),
        "created_at": now,
        "updated_at": now,
        **{name: getattr(draft, name) for name in SHARED_FIELDS},
    }
    return build_row(MemoryEntry, values)


def needs_review(settings: MemorySettings, actor: Actor, visibility: str, kind: str) -> bool:
    is_account_wide = visibility == MemoryEntry.Visibility.ACCOUNT
    return actor.kind == "key" and (
        (is_account_wide and settings.account.account_wide == Account.Policy.PROPOSE)
        or visibility in settings.review_visibilities
        or kind in settings.review_kinds
        or str(actor.id) in settings.review_keys
    )


def propose_update(decision: Decision, values: Mapping[str, Any]) -> MemoryEntry:
    """Propose these values for a memory. Approving the proposal supersedes the memory."""
    old = lock_entry(decision.account_id, decision.entry_id, decision.version)
    batch = build_update_proposal(old, values, reason=decision.reason)
    written = write_batch(account_id=decision.account_id, actor=decision.actor, batch=batch)
    return written.entries[0]


def build_update_proposal(
    old: MemoryEntry, values: Mapping[str, Any], *, reason: str = ""
) -> Batch:
    """Return the batch that proposes these values for a memory. The policy is not consulted."""
    fields = {name: getattr(old, name) for name in (*COPIED_FIELDS, *RENAMED)} | dict(values)
    proposal_input = NewEntry(
        id=uuid7(), **{RENAMED.get(name, name): value for name, value in fields.items()}
    )
    edge = NewEdge(
        type=MemoryEdge.Type.SUPERSEDES,
        src=EdgeEnd(id=proposal_input.id),
        dst=EdgeEnd(id=old.pk),
        weight=1.0,
    )
    return Batch(entries=[proposal_input], edges=[edge], reason=reason, status=Status.PROPOSED)
