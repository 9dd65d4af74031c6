"""Serialization of recalled memories for Aionis clients."""

import json
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.api.object_uris import object_uri
from kmapp.providers.active_models import active_model
from kmapp.search.vector_debug_previews import load_vector_previews
from kmapp.text import token_counter
from memory.api import serialize
from memory.models import MemoryEntry
from memory.models.entries import COLLECTION
from memory.retrieval.recall import RecallResult
from memory.retrieval.search import Hit
from memory.retrieval.spreading_activation import Edge

DEFAULT_CONTEXT_CHARACTERS = 20_000  # of the context, unless the client sets another limit
MAX_SLOTS_PREVIEW = 200  # characters of metadata
MAX_SUMMARY = 500
DEBUG_SEEDS = 5  # seeds


def serialize_recall(
    account_id: UUID, recalled: RecallResult, data: Mapping[str, Any]
) -> dict[str, Any]:
    """Return seeds, subgraph, ranking and context; embeddings only if the caller may see them."""
    entries = recalled.entries
    ranked = [
        {
            "id": pk,
            "activation": round(value, 6),
            "score": round(value, 6),
            "uri": serialize.build_entry_uri(entries[pk]),
        }
        for pk, value in recalled.activation.items()
        if pk in entries
    ]
    output: dict[str, Any] = {
        "tenant_id": account_id,
        "scope": data.get("scope") or "default",
        "seeds": [_serialize_seed(hit, data) for hit in recalled.seeds],
        "subgraph": {
            "nodes": [_serialize_node(entry, data) for entry in entries.values()],
            "edges": [
                _serialize_edge(edge, account_id, entries[edge.src]) for edge in recalled.edges
            ],
        },
        "ranked": ranked[: data["ranked_limit"]],
        "context": _serialize_context(recalled, data),
        **recalled.variant.versions(),
        "decisions": list(recalled.decisions),
    }
    if data["return_debug"]:
        output["debug"] = _serialize_debug(account_id, recalled, data)
    return output


def _serialize_seed(hit: Hit, data: Mapping[str, Any]) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "similarity": round(hit.score, 6),
        "ready": hit.ready,
        "embedding_status": hit.state,
    }
    if data["explain"]:
        fields["explain"] = {"score": hit.score, "parts": dict(hit.parts)}
    return _serialize_node(hit.entry, data) | fields


def _serialize_node(entry: MemoryEntry, data: Mapping[str, Any]) -> dict[str, Any]:
    node: dict[str, Any] = {
        "id": entry.pk,
        "uri": serialize.build_entry_uri(entry),
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
        node["slots_preview"] = json.dumps(entry.slots, ensure_ascii=False)[:MAX_SLOTS_PREVIEW]
    return node


def _serialize_edge(edge: Edge, account_id: UUID, src: MemoryEntry) -> dict[str, Any]:
    return {
        "id": edge.id,
        "uri": object_uri(edge.id, "edge", account_id),
        "from_id": edge.src,
        "to_id": edge.dst,
        "type": edge.type,
        "weight": edge.weight,
        # No commit records a derived edge; it follows from that of the memory where it starts.
        "commit_id": edge.commit_id or src.commit_id,
    }


def _serialize_context(recalled: RecallResult, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the most activated memories as lines, as many as fit completely."""
    max_tokens = data.get("context_token_budget")
    max_characters = data.get("context_char_budget") or DEFAULT_CONTEXT_CHARACTERS
    lines: list[str] = []
    included: list[MemoryEntry] = []
    used = size = 0
    for pk in recalled.activation:
        if (entry := recalled.entries.get(pk)) is None:
            continue
        line = f"- [{entry.kind}] {entry.title + ': ' if entry.title else ''}{entry.content}\n"
        line_tokens = token_counter.count_tokens(line) if max_tokens else 0
        if size + len(line) > max_characters or (max_tokens and used + line_tokens > max_tokens):
            continue
        lines.append(line)
        included.append(entry)
        used, size = used + line_tokens, size + len(line)
    return {
        "text": "".join(lines),
        "items": [_serialize_item(entry) for entry in included],
        "citations": [serialize.build_citation(entry, recalled.variant) for entry in included],
        "selection_policy": {"token_budget": max_tokens, "char_budget": max_characters},
        "selection_stats": {
            "considered": len(recalled.entries),
            "included": len(included),
            "chars": size,
            "tokens": used or None,
        },
    }


def _serialize_item(entry: MemoryEntry) -> dict[str, Any]:
    return {
        "kind": entry.kind,
        "node_id": entry.pk,
        "uri": serialize.build_entry_uri(entry),
        "title": entry.title or None,
        "summary": entry.content[:MAX_SUMMARY],
        "commit_id": entry.commit_id,
        "tier": entry.tier,
    }


def _serialize_debug(
    account_id: UUID, recalled: RecallResult, data: Mapping[str, Any]
) -> dict[str, Any]:
    debug: dict[str, Any] = {"hops": data["neighborhood_hops"], "model": active_model().name}
    if data["include_embeddings"]:
        first = [hit.entry.pk for hit in recalled.seeds[:DEBUG_SEEDS]]
        debug["embeddings"] = _limit_bytes(
            _serialize_vector_previews(account_id, first), data["max_debug_bytes"]
        )
    return debug


def _serialize_vector_previews(account_id: UUID, ids: Sequence[UUID]) -> list[dict[str, Any]]:
    with acting(account_id):
        return [
            {
                "node_id": pk,
                "dims": preview.dimensions,
                "sha256": preview.sha256,
                "preview": preview.preview,
            }
            for pk, preview in load_vector_previews(
                account_id, COLLECTION, active_model().pk, ids
            ).items()
        ]


def _limit_bytes(items: list[dict[str, Any]], max_bytes: int) -> list[dict[str, Any]]:
    included, used = [], 0
    for each in items:
        used += len(json.dumps(each, default=str).encode())
        if used > max_bytes:
            break
        included.append(each)
    return included
