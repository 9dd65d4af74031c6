"""Merging of adjacent chunks."""

from kmapp.search.candidate_ranking import RankedCandidate, compute_language_exponent
from kmapp.search.signal_weights import SHIPPED_WEIGHTS, Signals, build_weights
from knowledge.retrieval.merge_adjacent import MIN_RATIO, ChunkPosition, merge_chunks

BEST = 0.4


def rank(number: int, score: float, query: str) -> RankedCandidate:
    return RankedCandidate(
        id=str(number),
        score=score ** compute_language_exponent(query),
        unscaled_score=score,
        values=Signals(*[0.0] * len(Signals._fields)),
        weights=build_weights(0.5, frozenset(), SHIPPED_WEIGHTS),
        meaning=0.5,
    )


def test_neighbours_with_much_lower_scores_are_not_merged_in_any_language() -> None:
    """The scaling of English scores reduces their differences, but does not affect merging."""
    weak, strong = ((MIN_RATIO + step) * BEST for step in (-0.01, 0.01))
    for query in ("How hot is the kiln?", "窑炉有多热？"):
        ranked = [rank(1, BEST, query), rank(2, strong, query), rank(0, weak, query)]
        positions = {each.id: ChunkPosition("d", int(each.id)) for each in ranked}
        runs = merge_chunks(ranked, positions, frozenset())
        assert [run.chunks for run in runs] == [("1", "2"), ("0",)], query
