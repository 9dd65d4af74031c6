"""Merging of adjacent chunks."""

from collections.abc import Sequence

import numpy as np

from kmapp.search.candidate_ranking import RankedCandidates, compute_language_exponent
from kmapp.search.candidate_signals import SignalColumns
from kmapp.search.signal_weights import SHIPPED_WEIGHTS, Signals, build_weights
from knowledge.retrieval.merge_adjacent import MIN_RATIO, ChunkPosition, merge_chunks

BEST = 0.4


def rank(numbers: Sequence[int], scores: Sequence[float], query: str) -> RankedCandidates:
    """Return candidates with these numbers as ids, best first."""
    signals = SignalColumns(
        query=query,
        without=frozenset(),
        ids=[str(number) for number in numbers],
        values=np.zeros((len(Signals._fields), len(numbers))),
        has_vector=np.ones(len(numbers), np.bool_),
        meaning=0.5,
    )
    weights = build_weights(signals.meaning, signals.without, SHIPPED_WEIGHTS)
    return RankedCandidates(
        signals=signals,
        weights=(weights, weights),
        columns=range(len(numbers)),
        scores=[score ** compute_language_exponent(query) for score in scores],
        unscaled_scores=scores,
    )


def test_neighbours_with_much_lower_scores_are_not_merged_in_any_language() -> None:
    """The scaling of English scores reduces their differences, but does not affect merging."""
    weak, strong = ((MIN_RATIO + step) * BEST for step in (-0.01, 0.01))
    for query in ("How hot is the kiln?", "窑炉有多热？"):
        ranked = rank([1, 2, 0], [BEST, strong, weak], query)
        positions = {pk: ChunkPosition("d", int(pk)) for pk in ranked.ids}
        runs = merge_chunks(ranked, positions, frozenset())
        assert [run.chunks for run in runs] == [("1", "2"), ("0",)], query
