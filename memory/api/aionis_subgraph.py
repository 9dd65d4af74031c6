"""Showing what was recalled, in the shapes that Aionis' clients read."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.providers.active import active_model
from kmapp.search.debugging import glimpses
from kmapp.text import tokens
from memory.api import serialize
from memory.models import MemoryEntry
from memory.models.entries import COLLECTION
from memory.retrieval.recall import Recalled
from memory.retrieval.search import Hit
from memory.retrieval.spreading_activation import Edge

CHARACTERS = 20_000  # of the context, unless the client says otherwise
PREVIEW = 200  # characters of metadata
SUMMARY = 500
DEBUGGED = 5  # seeds


def answer(account_id: UUID, found: Recalled, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Seeds, subgraph, ranking and context. Embeddings only where the caller was let in."""
    entries = found.entries
    ranked = [
        {
            "id": pk,
            "activation": round(value, 6),
            "score": round(value, 6),
            "uri": _uri(entries[pk]),
        }
        for pk, value in found.activation.items()
        if pk in entries
    ]
    shown: dict[str, Any] = {
        "tenant_id": account_id,
        "scope": asked.get("scope") or "default",
        "seeds": [_seed(hit, asked) for hit in found.seeds],
        "subgraph": {
            "nodes": [_node(entry, asked) for entry in entries.values()],
            "edges": [_edge(edge, account_id) for edge in found.edges],
        },
        "ranked": ranked[: asked["ranked_limit"]],
        "context": _context(found, asked),
        **found.variant.versions(),
        "decisions": list(found.decisions),
    }
    if asked["return_debug"]:
        shown["debug"] = _debug(account_id, found, asked)
    return shown


def _seed(hit: Hit, asked: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "similarity": round(hit.score, 6),
        "ready": hit.ready,
        "embedding_status": hit.state,
    }
    if asked["explain"]:
        found["explain"] = {"score": hit.score, "parts": dict(hit.parts)}
    return _node(hit.entry, asked) | found


def _uri(entry: MemoryEntry) -> str:
    return serialize.uri(entry.pk, entry.kind, entry.account_id, entry.scope)


def _node(entry: MemoryEntry, asked: Mapping[str, Any]) -> dict[str, Any]:
    node: dict[str, Any] = {
        "id": entry.pk,
        "uri": _uri(entry),
        "type": entry.kind,
        "title": entry.title or None,
        "text_summary": entry.content,
        "tier": entry.tier,
        "salience": entry.salience,
        "importance": entry.importance,
        "confidence": entry.confidence,
    }
    if asked["include_meta"]:
        node |= {
            "created_at": entry.created_at,
            "updated_at": entry.updated_at,
            "last_activated": entry.last_activated_at,
            "commit_id": entry.commit_id,
            "raw_ref": entry.raw_ref or None,
            "evidence_ref": entry.evidence_ref or None,
        }
    if asked["include_slots"]:
        node["slots"] = entry.slots
    elif asked["include_slots_preview"]:
        node["slots_preview"] = json.dumps(entry.slots, ensure_ascii=False)[:PREVIEW]
    return node


def _edge(edge: Edge, account_id: UUID) -> dict[str, Any]:
    return {
        "id": edge.id,
        "uri": serialize.uri(edge.id, "edge", account_id),
        "from_id": edge.src,
        "to_id": edge.dst,
        "type": edge.type,
        "weight": edge.weight,
    }


def _context(found: Recalled, asked: Mapping[str, Any]) -> dict[str, Any]:
    """The most active memories as lines, as many as fit whole."""
    most = asked.get("context_token_budget")
    letters = asked.get("context_char_budget") or CHARACTERS
    lines: list[str] = []
    kept: list[MemoryEntry] = []
    used = size = 0
    for pk in found.activation:
        if (entry := found.entries.get(pk)) is None:
            continue
        line = f"- [{entry.kind}] {entry.title + ': ' if entry.title else ''}{entry.content}\n"
        cost = tokens.count(line) if most else 0
        if size + len(line) > letters or (most and used + cost > most):
            continue
        lines.append(line)
        kept.append(entry)
        used, size = used + cost, size + len(line)
    return {
        "text": "".join(lines),
        "items": [_item(entry) for entry in kept],
        "citations": [serialize.citation(entry, found.variant) for entry in kept],
        "selection_policy": {"token_budget": most, "char_budget": letters},
        "selection_stats": {
            "considered": len(found.entries),
            "included": len(kept),
            "chars": size,
            "tokens": used or None,
        },
    }


def _item(entry: MemoryEntry) -> dict[str, Any]:
    return {
        "kind": entry.kind,
        "node_id": entry.pk,
        "uri": _uri(entry),
        "title": entry.title or None,
        "summary": entry.content[:SUMMARY],
        "commit_id": entry.commit_id,
        "tier": entry.tier,
    }


def _debug(account_id: UUID, found: Recalled, asked: Mapping[str, Any]) -> dict[str, Any]:
    debug: dict[str, Any] = {"hops": asked["neighborhood_hops"], "model": active_model().name}
    if asked["include_embeddings"]:
        first = [hit.entry.pk for hit in found.seeds[:DEBUGGED]]
        debug["embeddings"] = _within(_glimpses(account_id, first), asked["max_debug_bytes"])
    return debug


def _glimpses(account_id: UUID, ids: Sequence[UUID]) -> list[dict[str, Any]]:
    with acting(account_id):
        return [
            {"node_id": pk, "dims": seen.dimensions, "sha256": seen.sha256, "preview": seen.preview}
            for pk, seen in glimpses(account_id, COLLECTION, active_model().pk, ids).items()
        ]


def _within(shown: list[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    kept, used = [], 0
    for each in shown:
        used += len(json.dumps(each, default=str).encode())
        if used > most:
            break
        kept.append(each)
    return kept
