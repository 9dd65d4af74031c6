"""Evidence from the neighbours of a candidate.

"Yes, in May" answers a question in the entry before it. An entry is raised by its neighbours
and by the best entry of its run.

An entry without neighbours uses its own evidence for both, so that a single fact competes with a
turn of a conversation on equal terms.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class NeighbourEvidence(NamedTuple):
    """The best evidence one step from each entry, and anywhere in its run."""

    near: list[float]
    run: list[float]


def compute_neighbour_evidence(
    own: Sequence[float], adjacency: Sequence[Sequence[int]], runs: Sequence[str]
) -> NeighbourEvidence:
    """Return the neighbour evidence of each entry. All three sequences list the same entries."""
    best_of_run: dict[str, float] = {}
    for evidence, run in zip(own, runs, strict=True):
        if run:
            best_of_run[run] = max(evidence, best_of_run.get(run, 0.0))
    return NeighbourEvidence(
        near=[
            max([own[neighbour] for neighbour in neighbours]) if neighbours else evidence
            for evidence, neighbours in zip(own, adjacency, strict=True)
        ],
        run=[best_of_run.get(run, evidence) for evidence, run in zip(own, runs, strict=True)],
    )


class Surroundings:
    """The entries around each entry, to combine the values of all of them at once."""

    def __init__(self, adjacency: Sequence[Sequence[int]]) -> None:
        groups = [[row, *adjacent] for row, adjacent in enumerate(adjacency)]
        lengths = np.array([len(group) for group in groups], np.intp)
        self._members = np.array([row for group in groups for row in group], np.intp)
        self._starts = lengths.cumsum() - lengths

    def combine(self, function: np.ufunc, values: NDArray[Any], *, steps: int) -> NDArray[Any]:
        """Return `function`, such as `np.maximum`, of the values up to `steps` steps from each row.

        `function` must not depend on order or repetition.
        """
        for _ in range(steps):
            values = function.reduceat(values.take(self._members, axis=0), self._starts)
        return values


def compute_linked_evidence(own: Sequence[float], links: Mapping[int, float]) -> float:
    """Return the best evidence over an edge, scaled by the edge's strength."""
    return max((own[other] * strength for other, strength in links.items()), default=0.0)


def compute_edge_strength(
    weight: float, confidence: float, decay_rate: float, days: float
) -> float:
    """Return the strength of an edge, which decreases with every day without use."""
    remaining: float = (1 - decay_rate) ** max(0.0, days)
    return weight * confidence * remaining
