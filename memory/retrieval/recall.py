"""Recall: seeds of a query and related memories.

Visibility is checked for every node at every hop: an edge grants no access.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID

from django.db import connection

from kmapp.accounts.acting import acting
from kmapp.ledger.read_verification import withhold_mismatches
from kmapp.search.id_array_lookup import IdArray
from kmapp.search.neighbour_evidence import compute_edge_strength
from kmapp.search.query_vector import QueryVector, load_query_vector
from kmapp.search.read_replica import run_on_replica
from kmapp.search.variants import Variant
from memory.models import MemoryEntry
from memory.retrieval.candidates import EVIDENCE_TYPES
from memory.retrieval.search import (
    Hit,
    SearchRequest,
    build_past_state,
    filter_entries,
    search_with_vector,
)
from memory.retrieval.spreading_activation import Edge, Walk

DEFAULT_SEEDS = 30
MAX_SCANNED_EDGES = 400  # edges examined in one hop


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallRequest:
    """The search for seeds, and the limits of the subgraph."""

    search: SearchRequest  # its limit is the number of seeds
    hops: int = 2
    max_nodes: int = 50
    max_edges: int = 100
    min_weight: float = 0.0
    min_confidence: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallResult:
    """The seeds and all reached memories, most active first."""

    seeds: Sequence[Hit]
    entries: Mapping[UUID, MemoryEntry]
    edges: Sequence[Edge]
    activation: Mapping[UUID, float]
    variant: Variant
    decisions: Sequence[Mapping[str, Any]] = field(default_factory=list)


def recall_memories(
    account_id: UUID, request: RecallRequest, meaning: QueryVector | None = None
) -> RecallResult:
    """Find seeds and follow edges from them. Opens `acting` itself; models run outside it."""
    decisions: list[Mapping[str, Any]] = []
    if meaning is None:
        meaning = load_query_vector(account_id, request.search.query, decisions)
    return run_on_replica(
        account_id, partial(_recall_from_database, account_id, request, meaning, decisions)
    )


def _recall_from_database(
    account_id: UUID,
    request: RecallRequest,
    meaning: QueryVector | None,
    decisions: Sequence[Mapping[str, Any]],
) -> RecallResult:
    seeds = search_with_vector(account_id, request.search, meaning)
    walk = Walk.from_seeds(
        {hit.entry.pk: hit.score for hit in seeds}, nodes=request.max_nodes, edges=request.max_edges
    )
    entries = {hit.entry.pk: hit.entry for hit in seeds if hit.entry.pk in walk.activation}
    with acting(account_id):
        for _ in range(request.hops):
            if not walk.frontier:
                break
            edges = _load_edges(account_id, walk.frontier, request)
            free_nodes = request.max_nodes - len(walk.activation)
            reached = _load_visible_entries(
                account_id, request.search, walk.list_reachable(edges)[: max(0, free_nodes) * 2]
            )
            walk.step(edges, {*entries, *reached})
            entries |= {pk: entry for pk, entry in reached.items() if pk in walk.activation}
    activation = dict(sorted(walk.activation.items(), key=lambda each: (-each[1], each[0])))
    return RecallResult(
        seeds=[hit for hit in seeds if hit.entry.pk in walk.activation],
        entries=entries,
        edges=list(walk.edges.values()),
        activation=activation,
        variant=request.search.variant,
        decisions=decisions,
    )


def _load_visible_entries(
    account_id: UUID, request: SearchRequest, ids: Collection[UUID]
) -> dict[UUID, MemoryEntry]:
    """Return those of these memories that the viewer can see, as of the requested instant."""
    rows = (
        filter_entries(account_id, request)
        .filter(pk__any_of=IdArray(ids))
        .with_verify_on_read(account_id)
    )
    past = build_past_state(account_id, request, IdArray(ids))
    entries = past.load_entries(rows) if past else list(rows)
    return {
        entry.pk: entry
        for entry in withhold_mismatches(account_id, entries, is_past=past is not None)
    }


_EDGES_SQL = """
SELECT id, src_id, dst_id, type, commit_id, weight, confidence, decay_rate, greatest(0, extract(
  epoch FROM coalesce(%(as_of)s, now()) - coalesce(last_activated_at, created_at)))::float8 / 86400
FROM memory_memoryedge
WHERE account_id = %(account)s AND type = ANY (%(types)s)
  AND weight >= %(min_weight)s AND confidence >= %(min_confidence)s
  AND created_at <= coalesce(%(as_of)s::timestamptz, 'infinity')
  AND (src_id = ANY (%(ids)s::uuid[]) OR dst_id = ANY (%(ids)s::uuid[]))
ORDER BY weight * confidence DESC, id LIMIT %(limit)s
"""


def _load_edges(account_id: UUID, frontier: Collection[UUID], request: RecallRequest) -> list[Edge]:
    parameters: dict[str, Any] = {
        "as_of": request.search.as_of,
        "account": account_id,
        "types": list(EVIDENCE_TYPES),
        "min_weight": request.min_weight,
        "min_confidence": request.min_confidence,
        "ids": IdArray(frontier).array,
        "limit": MAX_SCANNED_EDGES,
    }
    with connection.cursor() as cursor:
        cursor.execute(_EDGES_SQL, parameters)
        return [
            Edge(pk, src, dst, kind, weight, compute_edge_strength(weight, *decay), commit_id)
            for pk, src, dst, kind, commit_id, weight, *decay in cursor.fetchall()
        ]
