"""Signals as columns are those of each candidate alone, to the last bit."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kmapp.search.candidate_ranking import RankedCandidates, rank_candidates, rank_signals
from kmapp.search.candidate_signals import Candidate, Query
from kmapp.search.signal_weights import SHIPPED_WEIGHTS
from tests.kernel.candidate_strategies import QUERIES, candidate_lists, key
from tests.kernel.plain_ranking import rank_one_by_one

OTHER_WEIGHTS = tuple(reversed(SHIPPED_WEIGHTS))
SETS_WITHOUT = [
    frozenset[str](),
    frozenset({"similar"}),
    frozenset({"context", "window", "near", "run"}),
]


def check_order(ranked: RankedCandidates) -> None:
    results = list(ranked)
    assert ranked.ids == [each.id for each in results]
    assert ranked.scores == [each.score for each in results]
    assert ranked.unscaled_scores == [each.unscaled_score for each in results]


@settings(deadline=None)  # the first call loads dictionaries
@given(st.sampled_from(QUERIES), candidate_lists, st.sampled_from(SETS_WITHOUT))
def test_ranking_equals_that_of_one_candidate_after_the_other(
    query: Query, pool: list[Candidate], without: frozenset[str]
) -> None:
    ranked = rank_candidates(query, pool, without=without)
    assert list(ranked) == rank_one_by_one(query, pool, without)
    check_order(ranked)
    other = rank_signals(ranked.signals, OTHER_WEIGHTS)
    assert list(other) == rank_one_by_one(query, pool, without, OTHER_WEIGHTS)
    check_order(other)


def test_scores_that_become_equal_by_scaling_are_in_the_order_of_ids() -> None:
    """Two sums that differ in their last bit may have the same score."""
    query = QUERIES[0]
    pool = [Candidate(key(n), 0.9, 9.0, importance=0.5 + n * 2e-15) for n in range(40)]
    ranked = rank_candidates(query, pool)
    assert len(set(ranked.scores)) < len(set(ranked.unscaled_scores))
    assert list(ranked) == rank_one_by_one(query, pool)


def test_accessed_result_has_numbers_of_python() -> None:
    ranked = rank_candidates(QUERIES[0], [Candidate(key(1), 0.9, pinned=True)])
    numbers = [ranked[0].score, ranked[0].unscaled_score, *ranked[0].values]
    assert {type(number) for number in [*numbers, *ranked[0].parts.values()]} == {float}
    with pytest.raises(IndexError):
        ranked[1]
