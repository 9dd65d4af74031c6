"""Recall: seeds of a query and related memories.

Visibility is checked for every node at every hop: an edge grants no access.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import connection

from kmapp.accounts.acting import acting
from kmapp.ledger.sealed_reads import withhold
from kmapp.search.lookups import Ids
from kmapp.search.neighbour_evidence import strength
from kmapp.search.queries import Meaning
from kmapp.search.query_vector import meaning_of
from kmapp.search.variants import Variant
from memory.models import MemoryEntry
from memory.retrieval.candidates import SPREADING
from memory.retrieval.search import Hit, Search, answer, past_of, rows_of
from memory.retrieval.spreading_activation import Edge, Walk

USUAL = 30  # seeds
SCANNED = 400  # edges examined in one hop


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """The search for seeds, and the limits of the subgraph."""

    search: Search  # its limit is the number of seeds
    hops: int = 2
    most_nodes: int = 50
    most_edges: int = 100
    least_weight: float = 0.0
    least_confidence: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Recalled:
    """The seeds and all reached memories, most active first."""

    seeds: Sequence[Hit]
    entries: Mapping[UUID, MemoryEntry]
    edges: Sequence[Edge]
    activation: Mapping[UUID, float]
    variant: Variant
    decisions: Sequence[Mapping[str, Any]] = field(default_factory=list)


def recall(account_id: UUID, request: Recall, meaning: Meaning | None = None) -> Recalled:
    """Find seeds and follow edges from them. Opens `acting` itself; models run outside it."""
    decisions: list[Mapping[str, Any]] = []
    if meaning is None:
        meaning = meaning_of(account_id, request.search.query, decisions)
    seeds = answer(account_id, request.search, meaning)
    walk = Walk.of(
        {hit.entry.pk: hit.score for hit in seeds},
        nodes=request.most_nodes,
        edges=request.most_edges,
    )
    entries = {hit.entry.pk: hit.entry for hit in seeds if hit.entry.pk in walk.activation}
    with acting(account_id):
        for _ in range(request.hops):
            if not walk.front:
                break
            edges = _edges(account_id, walk.front, request)
            room = request.most_nodes - len(walk.activation)
            reached = _visible_entries(
                account_id, request.search, walk.beyond(edges)[: max(0, room) * 2]
            )
            walk.step(edges, {*entries, *reached})
            entries |= {pk: entry for pk, entry in reached.items() if pk in walk.activation}
    ranked = dict(sorted(walk.activation.items(), key=lambda each: (-each[1], each[0])))
    return Recalled(
        seeds=[hit for hit in seeds if hit.entry.pk in walk.activation],
        entries=entries,
        edges=list(walk.edges.values()),
        activation=ranked,
        variant=request.search.variant,
        decisions=decisions,
    )


def _visible_entries(
    account_id: UUID, request: Search, ids: Collection[UUID]
) -> dict[UUID, MemoryEntry]:
    """Return those of these memories that the viewer can see, as of the requested instant."""
    rows = rows_of(account_id, request).filter(pk__any_of=Ids(ids)).with_verify_on_read(account_id)
    past = past_of(account_id, request, Ids(ids))
    entries = past.entries(rows) if past else list(rows)
    return {entry.pk: entry for entry in withhold(account_id, entries, past=past is not None)}


_EDGES = """
SELECT id, src_id, dst_id, type, commit_id, weight, confidence, decay_rate, greatest(0, extract(
  epoch FROM coalesce(%s, now()) - coalesce(last_activated_at, created_at)))::float8 / 86400
FROM memory_memoryedge
WHERE account_id = %s AND type = ANY (%s) AND weight >= %s AND confidence >= %s
  AND created_at <= coalesce(%s::timestamptz, 'infinity')
  AND (src_id = ANY (%s::uuid[]) OR dst_id = ANY (%s::uuid[]))
ORDER BY weight * confidence DESC, id LIMIT %s
"""


def _edges(account_id: UUID, front: Collection[UUID], request: Recall) -> list[Edge]:
    these = Ids(front).array
    least = [request.least_weight, request.least_confidence]
    with connection.cursor() as cursor:
        then = request.search.as_of
        cursor.execute(
            _EDGES, [then, account_id, list(SPREADING), *least, then, these, these, SCANNED]
        )
        return [
            Edge(pk, src, dst, kind, weight, strength(weight, *carries), commit_id)
            for pk, src, dst, kind, commit_id, weight, *carries in cursor.fetchall()
        ]
