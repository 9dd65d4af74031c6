"""The rows from which weights are learned."""

from hypothesis import given, settings
from hypothesis import strategies as st

from kmapp.search.candidate_ranking import rank_candidates
from kmapp.search.candidate_signals import Candidate, Query
from kmapp.search.signal_weights import compute_balance
from memory.retrieval.learning.fit import NAMES, build_signal_rows
from tests.kernel.candidate_strategies import QUERIES, candidate_lists
from tests.kernel.plain_ranking import PlainSignals


@settings(deadline=None)  # the first call loads dictionaries
@given(query=st.sampled_from(QUERIES), pool=candidate_lists)
def test_rows_have_the_balanced_signals_of_each_candidate(
    query: Query, pool: list[Candidate]
) -> None:
    ranked, plain = rank_candidates(query, pool), PlainSignals(query, pool, without=())
    rows = build_signal_rows(ranked.signals)
    assert rows.shape == (len(pool), len(NAMES))
    assert rows.flags.c_contiguous
    for number, row in enumerate(rows.tolist()):
        values, meaning = plain.compute(number), plain.meanings[number]
        assert row == [getattr(values, name) * compute_balance(name, meaning) for name in NAMES]
    in_order = [pool[column].id for column in ranked.columns]
    assert in_order == ranked.ids
