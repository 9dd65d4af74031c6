"""Spreading activation from seeds over edges, with hard budgets. Pure."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple
from uuid import UUID

ACTIVATION_PER_HOP = 0.6  # of an activation is left after one step


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
    max_nodes: int
    max_edges: int
    edges: dict[UUID, Edge] = field(default_factory=dict)
    frontier: set[UUID] = field(default_factory=set)

    @classmethod
    def from_seeds(cls, seeds: Mapping[UUID, float], *, nodes: int, edges: int) -> "Walk":
        strongest = sorted(seeds.items(), key=lambda each: -each[1])[:nodes]
        walk = cls(activation=dict(strongest), max_nodes=nodes, max_edges=edges)
        walk.frontier = set(walk.activation)
        return walk

    def list_reachable(self, edges: Iterable[Edge]) -> list[UUID]:
        """Return the entries that one more step reaches, the strongest first."""
        reached: dict[UUID, float] = {}
        for edge in edges:
            for source, target in ((edge.src, edge.dst), (edge.dst, edge.src)):
                if source in self.frontier and target not in self.activation:
                    activation = self.activation[source] * edge.strength * ACTIVATION_PER_HOP
                    reached[target] = max(activation, reached.get(target, 0.0))
        return sorted(reached, key=lambda pk: (-reached[pk], pk))

    def step(self, edges: Iterable[Edge], visible_ids: Collection[UUID]) -> None:
        """Activate the reachable nodes that are in `visible_ids`, within the budgets."""
        strongest = sorted(edges, key=lambda edge: (-edge.strength, edge.id))
        frontier = set()
        for edge in strongest:
            for source, target in ((edge.src, edge.dst), (edge.dst, edge.src)):
                is_full = len(self.activation) >= self.max_nodes
                if target not in visible_ids or (is_full and target not in self.activation):
                    continue
                if source in self.frontier:
                    activation = self.activation[source] * edge.strength * ACTIVATION_PER_HOP
                    if target not in self.activation:
                        frontier.add(target)
                    self.activation[target] = max(activation, self.activation.get(target, 0.0))
        for edge in strongest:
            both = edge.src in self.activation and edge.dst in self.activation
            if both and len(self.edges) < self.max_edges:
                self.edges[edge.id] = edge
        self.frontier = frontier
