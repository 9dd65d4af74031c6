"""Serialization of memories for the API, as plain dicts for speed."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from kmapp.api.batch_node_registry import HostedNode
from kmapp.api.object_uris import object_uri
from kmapp.api.typed_dict_schemas import Shape, serialize_as
from kmapp.ledger.models import Commit
from kmapp.search.variants import Variant
from memory.api import response_types as types
from memory.api.ledger_response_types import LedgerCommit, Version
from memory.models import Finding, MemoryEdge, MemoryEntry, MemoryVersion
from memory.retrieval import search


def serialize_entry(entry: MemoryEntry) -> types.Memory:
    return serialize_entry_as(types.Memory, entry)


def serialize_entry_as(shape: type[Shape], entry: MemoryEntry, **values: Any) -> Shape:
    """Serialize an entry as `types.Memory`, or as a type that adds the fields of `values`."""
    return serialize_as(
        shape, entry, text=entry.content, metadata=entry.slots, uri=build_entry_uri(entry), **values
    )


def build_entry_uri(entry: MemoryEntry) -> str:
    return object_uri(entry.pk, entry.kind, entry.account_id, entry.scope)


def serialize_stored_entry(
    entry: MemoryEntry, *, again: bool, alike: Sequence[Finding]
) -> types.StoreAnswer:
    """Serialize a stored memory. `again` is true if it existed already."""
    decisions: list[dict[str, Any]] = [
        {"code": f"near_{each.kind}", "memory_id": each.other_id, "score": round(each.score, 3)}
        for each in alike
    ]
    if again:
        decisions = [{"code": "already_known", "memory_id": entry.pk}]
    return serialize_entry_as(types.StoreAnswer, entry, decisions=decisions)


def serialize_hit(hit: search.Hit, variant: Variant, *, explain: bool) -> types.Hit:
    """Serialize a search result. With `explain`, include the parts of the score."""
    entry = hit.entry
    output = serialize_as(
        types.Hit,
        entry,
        text=entry.content,
        metadata=entry.slots,
        score=hit.score,
        relevance=hit.relevance,
        embedding_status=hit.state,
        citations=[build_citation(entry, variant)],
    )
    if explain:
        output["explain"] = {"score": hit.score, "parts": dict(hit.parts)}
    return output


def build_citation(entry: MemoryEntry, variant: Variant) -> types.Citation:
    return serialize_as(
        types.Citation,
        entry,
        node_id=entry.pk,
        uri=build_entry_uri(entry),
        commit_uri=object_uri(entry.commit_id, "commit", entry.account_id, entry.scope),
        **variant.versions(),
    )


def serialize_node(
    node: MemoryEntry | HostedNode, account_id: UUID, scope: str = ""
) -> types.WrittenNode:
    uri = object_uri(node.id, node.kind, account_id, scope)
    return serialize_as(types.WrittenNode, node, uri=uri, type=node.kind)


def serialize_edge(edge: MemoryEdge, scope: str = "") -> types.WrittenEdge:
    uri = object_uri(edge.pk, "edge", edge.account_id, scope)
    return serialize_as(types.WrittenEdge, edge, uri=uri)


def serialize_version(version: MemoryVersion, commit: Commit | None) -> Version:
    return serialize_as(
        Version,
        version,
        text=version.state.get("content"),
        status=version.state.get("status"),
        commit=serialize_as(LedgerCommit, commit) if commit else None,
    )
