"""Serialization of recalled memories for Aionis clients."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.api.uris import object_uri
from kmapp.providers.active import active_model
from kmapp.search.debugging import load_vector_previews
from kmapp.text import tokens
from memory.api import serialize
from memory.models import MemoryEntry
from memory.models.entries import COLLECTION
from memory.retrieval.recall import RecallResult
from memory.retrieval.search import Hit
from memory.retrieval.spreading_activation import Edge

CHARACTERS = 20_000  # of the context, unless the client sets another limit
PREVIEW = 200  # characters of metadata
SUMMARY = 500
DEBUGGED = 5  # seeds


def answer(account_id: UUID, recalled: RecallResult, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return seeds, subgraph, ranking and context; embeddings only if the caller may see them."""
    entries = recalled.entries
    ranked = [
        {
            "id": pk,
            "activation": round(value, 6),
            "score": round(value, 6),
            "uri": serialize.entry_uri(entries[pk]),
        }
        for pk, value in recalled.activation.items()
        if pk in entries
    ]
    node: dict[str, Any] = {
        "tenant_id": account_id,
        "scope": data.get("scope") or "default",
        "seeds": [_seed(hit, data) for hit in recalled.seeds],
        "subgraph": {
            "nodes": [_node(entry, data) for entry in entries.values()],
            "edges": [_edge(edge, account_id) for edge in recalled.edges],
        },
        "ranked": ranked[: data["ranked_limit"]],
        "context": _context(recalled, data),
        **recalled.variant.versions(),
        "decisions": list(recalled.decisions),
    }
    if data["return_debug"]:
        node["debug"] = _debug(account_id, recalled, data)
    return node


def _seed(hit: Hit, data: Mapping[str, Any]) -> dict[str, Any]:
    recalled: dict[str, Any] = {
        "similarity": round(hit.score, 6),
        "ready": hit.ready,
        "embedding_status": hit.state,
    }
    if data["explain"]:
        recalled["explain"] = {"score": hit.score, "parts": dict(hit.parts)}
    return _node(hit.entry, data) | recalled


def _node(entry: MemoryEntry, data: Mapping[str, Any]) -> dict[str, Any]:
    node: dict[str, Any] = {
        "id": entry.pk,
        "uri": serialize.entry_uri(entry),
        "type": entry.kind,
        "title": entry.title or None,
        "text_summary": entry.content,
        "tier": entry.tier,
        "salience": entry.salience,
        "importance": entry.importance,
        "confidence": entry.confidence,
    }
    if data["include_meta"]:
        node |= {
            "created_at": entry.created_at,
            "updated_at": entry.updated_at,
            "last_activated": entry.last_activated_at,
            "commit_id": entry.commit_id,
            "raw_ref": entry.raw_ref or None,
            "evidence_ref": entry.evidence_ref or None,
        }
    if data["include_slots"]:
        node["slots"] = entry.slots
    elif data["include_slots_preview"]:
        node["slots_preview"] = json.dumps(entry.slots, ensure_ascii=False)[:PREVIEW]
    return node


def _edge(edge: Edge, account_id: UUID) -> dict[str, Any]:
    return {
        "id": edge.id,
        "uri": object_uri(edge.id, "edge", account_id),
        "from_id": edge.src,
        "to_id": edge.dst,
        "type": edge.type,
        "weight": edge.weight,
        "commit_id": edge.commit_id,
    }


def _context(recalled: RecallResult, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the most activated memories as lines, as many as fit completely."""
    most = data.get("context_token_budget")
    letters = data.get("context_char_budget") or CHARACTERS
    lines: list[str] = []
    entries_within: list[MemoryEntry] = []
    used = size = 0
    for pk in recalled.activation:
        if (entry := recalled.entries.get(pk)) is None:
            continue
        line = f"- [{entry.kind}] {entry.title + ': ' if entry.title else ''}{entry.content}\n"
        cost = tokens.count(line) if most else 0
        if size + len(line) > letters or (most and used + cost > most):
            continue
        lines.append(line)
        entries_within.append(entry)
        used, size = used + cost, size + len(line)
    return {
        "text": "".join(lines),
        "items": [_item(entry) for entry in entries_within],
        "citations": [serialize.citation(entry, recalled.variant) for entry in entries_within],
        "selection_policy": {"token_budget": most, "char_budget": letters},
        "selection_stats": {
            "considered": len(recalled.entries),
            "included": len(entries_within),
            "chars": size,
            "tokens": used or None,
        },
    }


def _item(entry: MemoryEntry) -> dict[str, Any]:
    return {
        "kind": entry.kind,
        "node_id": entry.pk,
        "uri": serialize.entry_uri(entry),
        "title": entry.title or None,
        "summary": entry.content[:SUMMARY],
        "commit_id": entry.commit_id,
        "tier": entry.tier,
    }


def _debug(account_id: UUID, recalled: RecallResult, data: Mapping[str, Any]) -> dict[str, Any]:
    debug: dict[str, Any] = {"hops": data["neighborhood_hops"], "model": active_model().name}
    if data["include_embeddings"]:
        first = [hit.entry.pk for hit in recalled.seeds[:DEBUGGED]]
        debug["embeddings"] = _within(
            _serialize_vector_previews(account_id, first), data["max_debug_bytes"]
        )
    return debug


def _serialize_vector_previews(account_id: UUID, ids: Sequence[UUID]) -> list[dict[str, Any]]:
    with acting(account_id):
        return [
            {"node_id": pk, "dims": seen.dimensions, "sha256": seen.sha256, "preview": seen.preview}
            for pk, seen in load_vector_previews(
                account_id, COLLECTION, active_model().pk, ids
            ).items()
        ]


def _within(node: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    entries_within, used = [], 0
    for each in node:
        used += len(json.dumps(each, default=str).encode())
        if used > most:
            break
        entries_within.append(each)
    return entries_within
