"""Spreading activation from seeds over edges, with hard budgets. Pure."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

HOP = 0.6  # of an activation is left after one step


class Edge(NamedTuple):
    """An edge of the graph."""

    id: UUID
    src: UUID
    dst: UUID
    type: str
    weight: float
    strength: float  # weight × confidence, faded by age
    commit_id: UUID | None = None  # None for a derived edge


@dataclass
class Walk:
    """Activation of the reached nodes. Budgets limit the nodes and edges."""

    activation: dict[UUID, float]
    most_nodes: int
    most_edges: int
    edges: dict[UUID, Edge] = field(default_factory=dict)
    front: set[UUID] = field(default_factory=set)

    @classmethod
    def of(cls, seeds: Mapping[UUID, float], *, nodes: int, edges: int) -> "Walk":
        strongest = sorted(seeds.items(), key=lambda each: -each[1])[:nodes]
        walk = cls(activation=dict(strongest), most_nodes=nodes, most_edges=edges)
        walk.front = set(walk.activation)
        return walk

    def beyond(self, edges: Iterable[Edge]) -> list[UUID]:
        """Return the entries that one more step reaches, the strongest first."""
        reached: dict[UUID, float] = {}
        for edge in edges:
            for here, there in ((edge.src, edge.dst), (edge.dst, edge.src)):
                if here in self.front and there not in self.activation:
                    carried = self.activation[here] * edge.strength * HOP
                    reached[there] = max(carried, reached.get(there, 0.0))
        return sorted(reached, key=lambda pk: (-reached[pk], pk))

    def step(self, edges: Iterable[Edge], seen: Collection[UUID]) -> None:
        """Activate the reachable nodes that are in `seen`, within the budgets."""
        strongest = sorted(edges, key=lambda edge: (-edge.strength, edge.id))
        front = set()
        for edge in strongest:
            for here, there in ((edge.src, edge.dst), (edge.dst, edge.src)):
                is_full = len(self.activation) >= self.most_nodes
                if there not in seen or (is_full and there not in self.activation):
                    continue
                if here in self.front:
                    carried = self.activation[here] * edge.strength * HOP
                    if there not in self.activation:
                        front.add(there)
                    self.activation[there] = max(carried, self.activation.get(there, 0.0))
        for edge in strongest:
            both = edge.src in self.activation and edge.dst in self.activation
            if both and len(self.edges) < self.most_edges:
                self.edges[edge.id] = edge
        self.front = front
