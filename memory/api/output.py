"""What agents are shown of a memory. Never an embedding."""

from typing import Any

from kmapp.ledger.models import Commit
from memory.models import MemoryEdge, MemoryEntry, MemoryVersion
from memory.retrieval import Hit

SCHEME = "aionis"


def uri(entry_id: Any, kind: str, account_id: Any, scope: str = "") -> str:
    return f"{SCHEME}://{account_id}/{scope or 'default'}/{kind}/{entry_id}"


def entry_output(entry: MemoryEntry) -> dict[str, Any]:
    """A memory, whole."""
    return {
        "id": str(entry.pk),
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
        "commit_id": str(entry.commit_id),
        "uri": uri(entry.pk, entry.kind, entry.account_id, entry.scope),
    }


def embedding_output(entry: MemoryEntry, model: str) -> dict[str, Any]:
    """How far its vector is; the queryset says `with_embedding_state`."""
    return {
        "embedding_status": entry.embedding_state,
        "embedding_model": model,
        "embedding_ready_at": entry.embedding_ready_at,
    }


def hit_output(hit: Hit, *, explain: bool) -> dict[str, Any]:
    """A search result. With `explain`, the parts that add up to its score."""
    entry = hit.entry
    shown: dict[str, Any] = {
        "id": str(entry.pk),
        "text": entry.content,
        "score": hit.score,
        "kind": entry.kind,
        "title": entry.title,
        "tags": entry.tags,
        "metadata": entry.slots,
        "user_id": entry.user_id or None,
        "agent_id": entry.agent_id or None,
        "run_id": entry.run_id or None,
        "client_id": entry.client_id,
        "observed_at": entry.observed_at,
        "pinned": entry.pinned,
        "embedding_status": "READY" if hit.ready else "PENDING",
        "citations": [citation(entry)],
    }
    if explain:
        shown["explain"] = {"score": hit.score, "parts": dict(hit.parts)}
    return shown


def citation(entry: MemoryEntry) -> dict[str, Any]:
    """Where a memory comes from."""
    return {
        "node_id": str(entry.pk),
        "uri": uri(entry.pk, entry.kind, entry.account_id, entry.scope),
        "commit_id": str(entry.commit_id),
        "commit_uri": uri(entry.commit_id, "commit", entry.account_id, entry.scope),
        "raw_ref": entry.raw_ref or None,
        "evidence_ref": entry.evidence_ref or None,
        "sources": entry.sources,
    }


def edge_output(edge: MemoryEdge, scope: str = "") -> dict[str, Any]:
    return {
        "id": str(edge.pk),
        "uri": uri(edge.pk, "edge", edge.account_id, scope),
        "type": edge.type,
        "src_id": str(edge.src_id),
        "dst_id": str(edge.dst_id),
    }


def version_output(version: MemoryVersion, commit: Commit | None) -> dict[str, Any]:
    """One state of a memory, and the commit that sealed it."""
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


def commit_output(commit: Commit) -> dict[str, Any]:
    return {
        "id": str(commit.pk),
        "seq": commit.seq,
        "parent_hash": commit.parent_hash,
        "commit_hash": commit.commit_hash,
        "actor": commit.actor,
        "created_at": commit.created_at,
        "input_digest": commit.input_digest,
        "diff": commit.diff,
    }
