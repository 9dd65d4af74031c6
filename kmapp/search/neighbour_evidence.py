"""Evidence from the neighbours of a candidate.

"Yes, in May" answers a question in the entry before it. An entry is raised by its neighbours
and by the best entry of its run.

An entry without neighbours uses its own evidence for both, so that a single fact competes with a
turn of a conversation on equal terms.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class NeighbourEvidence(NamedTuple):
    """The best evidence one step from an entry, and anywhere in its run."""

    near: float
    run: float


def compute_neighbour_evidence(
    own: Sequence[float], adjacency: Sequence[Sequence[int]], runs: Sequence[str]
) -> list[NeighbourEvidence]:
    """Return the neighbour evidence of each entry. All three sequences list the same entries."""
    best_of_run: dict[str, float] = {}
    for evidence, run in zip(own, runs, strict=True):
        if run:
            best_of_run[run] = max(evidence, best_of_run.get(run, 0.0))
    evidence_list = []
    for position, (evidence, neighbours) in enumerate(zip(own, adjacency, strict=True)):
        near = max([own[neighbour] for neighbour in neighbours]) if neighbours else evidence
        evidence_list.append(NeighbourEvidence(near, best_of_run.get(runs[position], evidence)))
    return evidence_list


def compute_linked_evidence(own: Sequence[float], links: Mapping[int, float]) -> float:
    """Return the best evidence over an edge, scaled by the edge's strength."""
    return max((own[other] * strength for other, strength in links.items()), default=0.0)


def compute_edge_strength(
    weight: float, confidence: float, decay_rate: float, days: float
) -> float:
    """Return the strength of an edge, which decreases with every day without use."""
    remaining: float = (1 - decay_rate) ** max(0.0, days)
    return weight * confidence * remaining
