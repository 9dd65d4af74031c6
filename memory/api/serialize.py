"""Serialization of memories for the API, as plain dicts for speed."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from kmapp.api.uris import object_uri
from kmapp.ledger.batch_nodes import HostedNode
from kmapp.ledger.models import Commit
from kmapp.search.variants import Variant
from memory.api.ledger_response_types import LedgerCommit, Version
from memory.api.response_types import (
    Citation,
    Hit,
    Memory,
    MemoryWithVector,
    Proposal,
    StoreAnswer,
    WrittenEdge,
    WrittenNode,
)
from memory.models import Finding, MemoryEdge, MemoryEntry, MemoryVersion
from memory.retrieval import search


def entry_output(entry: MemoryEntry) -> Memory:
    return {
        "id": entry.pk,
        "client_id": entry.client_id,
        "scope": entry.scope,
        "text": entry.content,
        "title": entry.title,
        "kind": entry.kind,
        "metadata": entry.slots,
        "tags": entry.tags,
        "entities": entry.entities,
        "user_id": entry.user_id or None,
        "agent_id": entry.agent_id or None,
        "app_id": entry.app_id or None,
        "run_id": entry.run_id or None,
        "visibility": entry.visibility,
        "status": entry.status,
        "pinned": entry.pinned,
        "tier": entry.tier,
        "importance": entry.importance,
        "confidence": entry.confidence,
        "salience": entry.salience,
        "half_life_days": entry.half_life_days,
        "sources": entry.sources,
        "raw_ref": entry.raw_ref or None,
        "evidence_ref": entry.evidence_ref or None,
        "flags": entry.flags,
        "observed_at": entry.observed_at,
        "valid_from": entry.valid_from,
        "valid_to": entry.valid_to,
        "expires_at": entry.expires_at,
        "created_at": entry.created_at,
        "updated_at": entry.updated_at,
        "last_activated_at": entry.last_activated_at,
        "version": entry.version,
        "commit_id": entry.commit_id,
        "uri": object_uri(entry.pk, entry.kind, entry.account_id, entry.scope),
    }


def stored_output(entry: MemoryEntry, *, again: bool, alike: Sequence[Finding]) -> StoreAnswer:
    """Serialize a stored memory. `again` is true if it existed already."""
    decisions: list[dict[str, Any]] = [
        {"code": f"near_{each.kind}", "memory_id": each.other_id, "score": round(each.score, 3)}
        for each in alike
    ]
    if again:
        decisions = [{"code": "already_known", "memory_id": entry.pk}]
    return {**entry_output(entry), "decisions": decisions}


def with_vector_output(entry: MemoryEntry, model: str) -> MemoryWithVector:
    """Serialize an entry from a queryset `with_embedding_state`."""
    return {
        **entry_output(entry),
        "embedding_status": entry.embedding_state,
        "embedding_model": model,
        "embedding_ready_at": entry.embedding_ready_at,
    }


def proposal_output(proposed: MemoryEntry, supersedes: UUID) -> Proposal:
    return {**entry_output(proposed), "supersedes": supersedes}


def hit_output(hit: search.Hit, variant: Variant, *, explain: bool) -> Hit:
    """Serialize a search result. With `explain`, include the parts of the score."""
    entry = hit.entry
    output: Hit = {
        "id": entry.pk,
        "text": entry.content,
        "score": hit.score,
        "kind": entry.kind,
        "title": entry.title,
        "tags": entry.tags,
        "metadata": entry.slots,
        "user_id": entry.user_id or None,
        "agent_id": entry.agent_id or None,
        "app_id": entry.app_id or None,
        "run_id": entry.run_id or None,
        "client_id": entry.client_id,
        "observed_at": entry.observed_at,
        "expires_at": entry.expires_at,
        "created_at": entry.created_at,
        "updated_at": entry.updated_at,
        "pinned": entry.pinned,
        "embedding_status": hit.state,
        "citations": [citation(entry, variant)],
    }
    if explain:
        output["explain"] = {"score": hit.score, "parts": dict(hit.parts)}
    return output


def citation(entry: MemoryEntry, variant: Variant) -> Citation:
    return {
        "node_id": entry.pk,
        "uri": object_uri(entry.pk, entry.kind, entry.account_id, entry.scope),
        "commit_id": entry.commit_id,
        "commit_uri": object_uri(entry.commit_id, "commit", entry.account_id, entry.scope),
        "raw_ref": entry.raw_ref or None,
        "evidence_ref": entry.evidence_ref or None,
        "sources": entry.sources,
        **variant.versions(),
    }


def node_output(entry: MemoryEntry) -> WrittenNode:
    return {
        "id": entry.pk,
        "uri": object_uri(entry.pk, entry.kind, entry.account_id, entry.scope),
        "client_id": entry.client_id,
        "type": entry.kind,
        "status": entry.status,
    }


def guest_output(node: HostedNode, account_id: UUID, scope: str = "") -> WrittenNode:
    return {
        "id": node.id,
        "uri": object_uri(node.id, node.kind, account_id, scope),
        "client_id": node.client_id,
        "type": node.kind,
        "status": node.status,
    }


def edge_output(edge: MemoryEdge, scope: str = "") -> WrittenEdge:
    return {
        "id": edge.pk,
        "uri": object_uri(edge.pk, "edge", edge.account_id, scope),
        "type": edge.type,
        "src_id": edge.src_id,
        "dst_id": edge.dst_id,
    }


def version_output(version: MemoryVersion, commit: Commit | None) -> Version:
    return {
        "version": version.version,
        "event": version.event,
        "actor": version.actor,
        "reason": version.reason,
        "created_at": version.created_at,
        "text": version.state.get("content"),
        "status": version.state.get("status"),
        "state": version.state,
        "commit": commit_output(commit) if commit else None,
    }


def commit_output(commit: Commit) -> LedgerCommit:
    return {
        "id": commit.pk,
        "seq": commit.seq,
        "parent_hash": commit.parent_hash,
        "commit_hash": commit.commit_hash,
        "actor": commit.actor,
        "created_at": commit.created_at,
        "input_digest": commit.input_digest,
        "diff": commit.diff,
    }
