"""One score out of many signals."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmapp.search.fusion import Candidate, Query, fuse

ENGLISH = Query(text="Where did Ann move?", idf_sum=9.0)
CHINESE = Query(text="小红搬到哪里了", idf_sum=9.0)


def candidate(number: int, cosine: float | None, bm25: float) -> Candidate:
    return Candidate(id=UUID(int=number), cosine=cosine, bm25=bm25)


@given(st.floats(-1, 1) | st.none(), st.floats(0, 500))
def test_the_parts_sum_to_a_score_between_0_and_1(cosine: float | None, bm25: float) -> None:
    [result] = fuse(ENGLISH, [candidate(1, cosine, bm25)])
    assert 0 <= result.score <= 1
    assert result.score == sum(result.parts.values())


def test_the_better_on_both_signals_comes_first() -> None:
    ranked = fuse(ENGLISH, [candidate(1, 0.80, 3.0), candidate(2, 0.85, 9.0)])
    assert [result.id.int for result in ranked] == [2, 1]


def test_a_score_does_not_depend_on_the_other_candidates() -> None:
    alone = fuse(ENGLISH, [candidate(1, 0.82, 4.0)])
    among = fuse(ENGLISH, [candidate(1, 0.82, 4.0), candidate(2, 0.95, 40.0)])
    assert among[1].score == alone[0].score


def test_words_find_what_has_no_vector_yet() -> None:
    ranked = fuse(ENGLISH, [candidate(1, None, 9.0), candidate(2, 0.70, 0.0)])
    assert ranked[0].id.int == 1
    assert ranked[0].parts["dense"] == 0


def test_a_chinese_question_trusts_meaning_more() -> None:
    english, chinese = (fuse(query, [candidate(1, 0.9, 0.0)])[0] for query in (ENGLISH, CHINESE))
    assert chinese.parts["dense"] > english.parts["dense"]


def test_equal_scores_keep_one_order() -> None:
    ranked = fuse(ENGLISH, [candidate(n, 0.8, 1.0) for n in (3, 1, 2)])
    assert [result.id.int for result in ranked] == [1, 2, 3]


def test_no_candidates_no_results() -> None:
    assert fuse(ENGLISH, []) == []


@pytest.mark.parametrize("bm25", [0.0, 1e-9, 1e6])
def test_extreme_signals_stay_on_the_scale(bm25: float) -> None:
    assert 0 <= fuse(ENGLISH, [candidate(1, 1.0, bm25)])[0].score <= 1
