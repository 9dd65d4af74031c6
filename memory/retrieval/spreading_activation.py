"""Spreading activation from seeds over edges, with hard budgets. Pure."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

HOP = 0.6  # of an activation is left after one step


class Edge(NamedTuple):
    """One edge as a walk sees it."""

    id: UUID
    src: UUID
    dst: UUID
    type: str
    weight: float
    strength: float  # weight × confidence, faded by age


@dataclass
class Walk:
    """What was reached so far, and how strongly. Nodes and edges are counted against budgets."""

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
        """Take the step, onto those nodes that may be seen, as far as the budgets reach."""
        strongest = sorted(edges, key=lambda edge: (-edge.strength, edge.id))
        front = set()
        for edge in strongest:
            for here, there in ((edge.src, edge.dst), (edge.dst, edge.src)):
                if here in self.front and there in seen and self._has_room_for(there):
                    carried = self.activation[here] * edge.strength * HOP
                    if there not in self.activation:
                        front.add(there)
                    self.activation[there] = max(carried, self.activation.get(there, 0.0))
        for edge in strongest:
            both = edge.src in self.activation and edge.dst in self.activation
            if both and len(self.edges) < self.most_edges:
                self.edges[edge.id] = edge
        self.front = front

    def _has_room_for(self, node: UUID) -> bool:
        return node in self.activation or len(self.activation) < self.most_nodes
