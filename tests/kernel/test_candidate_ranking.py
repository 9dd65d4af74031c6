"""Ranking of candidates: fusion of their signals into one score."""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kmapp.search.candidate_ranking import (
    RankedCandidates,
    compute_language_exponent,
    rank_candidates,
)
from kmapp.search.candidate_signals import Candidate, CosineScale, Query
from tests.kernel.candidate_strategies import candidate_lists, key
from tests.timing import assert_linear

ENGLISH = Query(text="Where did Ann move?", idf={"ann": 4.0, "move": 3.0, "where": 2.0})
CHINESE = Query(text="小红搬到哪里了", idf={"小红": 4.0, "搬": 3.0, "搬到": 2.0})


def one(number: int = 1, **signals: object) -> Candidate:
    given_signals: dict[str, object] = {"cosine": 0.85, "bm25": 4.0, "text": "Grey wool"} | signals
    return Candidate(id=key(number), **given_signals)  # type: ignore[arg-type]


def order(ranked: RankedCandidates) -> list[int]:
    return [UUID(pk).int for pk in ranked.ids]


@settings(deadline=None)  # the first call loads dictionaries
@given(st.sampled_from([ENGLISH, CHINESE, Query(text="", idf={})]), candidate_lists)
def test_the_parts_sum_to_a_score_between_0_and_1(query: Query, found: list[Candidate]) -> None:
    for result in rank_candidates(query, found):
        assert 0 <= result.score <= 1
        assert result.score == pytest.approx(sum(result.parts.values()), abs=1e-12)
        assert min(result.parts.values()) >= 0


@pytest.mark.parametrize(
    "query",
    [
        Query(text="When did Ann move?", idf=ENGLISH.idf),
        Query(text="小红什么时候搬的", idf=CHINESE.idf),
    ],
)
def test_perfect_signals_score_one(query: Query) -> None:
    best: dict[str, Any] = {
        "cosine": 1.0,
        "bm25": 500.0,
        "term_mask": 7,
        "text": f"{' '.join(query.idf)}, Ostrey 5 Vellmark 2024 上周",
    }
    liked: dict[str, Any] = {"importance": 1.0, "salience": 1.0, "pinned": True}
    links = {key(2): 1.0}
    result = rank_candidates(query, [one(**best, **liked, links=links), one(2, **best)])[0]
    assert result.score == pytest.approx(1.0, abs=0.08)
    assert result.score <= 1


@pytest.mark.parametrize(
    ("expected", "candidates"),
    [
        pytest.param([], [], id="none"),
        pytest.param([1, 2, 3], [one(3), one(1), one(2)], id="equal scores by id"),
        pytest.param([2, 1], [one(1, cosine=0.80, bm25=3.0), one(2, bm25=9.0)], id="both signals"),
        pytest.param([2, 1], [one(1), one(2, importance=0.9)], id="importance"),
        pytest.param([2, 1], [one(1), one(2, salience=0.9)], id="salience"),
        pytest.param([2, 1], [one(1), one(2, pinned=True)], id="pin"),
        pytest.param([2, 1], [one(1, fresh=0.5), one(2)], id="freshness"),
        pytest.param([2, 1], [one(1, context=0.80), one(2, context=0.90)], id="context vector"),
        pytest.param(
            [2, 1], [one(1, is_question=True), one(2)], id="a statement before a question"
        ),
        pytest.param(
            [2, 1],
            [one(1, text="Bob: Ann moved", term_mask=1), one(2, text="Ann: I moved", term_mask=1)],
            id="headed by the queried name",
        ),
        pytest.param(
            [1, 2],
            [one(2, cosine=0.80, bm25=9.0), one(1, cosine=None, bm25=9.0)],
            id="a missing vector is no penalty",
        ),
        pytest.param(
            [9, 2, 1, 3],
            [
                one(9, cosine=0.95, bm25=12.0),
                *(one(1, links={key(9): 0.2}), one(2, links={key(9): 0.9}), one(3)),
            ],
            id="edges by strength",
        ),
        pytest.param(
            [1, 2, 3],
            [
                one(1, cosine=0.90, bm25=12.0, neighbours=[key(2)], run="r", is_question=True),
                one(2, cosine=0.80, bm25=0.5, neighbours=[key(1)], run="r"),
                one(3, cosine=0.82, bm25=1.0),
            ],
            id="an answer after its question",
        ),
    ],
)
def test_candidates_are_ranked(expected: list[int], candidates: list[Candidate]) -> None:
    assert order(rank_candidates(ENGLISH, candidates)) == expected


def test_bm25_ranks_candidates_without_vectors() -> None:
    ranked = rank_candidates(ENGLISH, [one(1, cosine=None, bm25=9.0), one(2, bm25=0.0)])
    assert order(ranked) == [1, 2]
    assert ranked[0].parts["dense"] == ranked[0].parts["context"] == 0


def test_stop_word_query_ranks_by_cosine() -> None:
    query = Query(text="who are you?", idf={})
    assert order(rank_candidates(query, [one(1, bm25=0.0), one(2, cosine=0.9, bm25=0.0)])) == [2, 1]


def test_fusion_takes_linear_time() -> None:
    chain = [
        one(n, neighbours=[key(n - 1), key(n + 1)], run="r", text=f"Ann: number {n} is")
        for n in range(1, 1_201)
    ]
    assert_linear(lambda size: rank_candidates(ENGLISH, chain[:size]), 600)


def test_terms_of_neighbours_add_score() -> None:
    pair = [one(1, term_mask=1, neighbours=[key(3)]), one(3, term_mask=6, neighbours=[key(1)])]
    ranked = {
        UUID(each.id).int: each for each in rank_candidates(ENGLISH, [*pair, one(2, term_mask=1)])
    }
    assert ranked[1].parts["window"] > ranked[2].parts["window"]
    assert ranked[1].values.lexical == ranked[2].values.lexical


def test_score_is_independent_of_unrelated_candidates() -> None:
    [alone] = rank_candidates(ENGLISH, [one(run="r1")])
    among = rank_candidates(ENGLISH, [one(run="r1"), one(2, cosine=0.95, bm25=40.0, run="r2")])
    assert among[1] == alone


def test_the_order_of_candidates_does_not_matter() -> None:
    chain = [one(1, neighbours=[key(2)]), one(2, bm25=9.0, neighbours=[key(1)])]
    assert [*rank_candidates(ENGLISH, chain)] == [*rank_candidates(ENGLISH, chain[::-1])]


def test_missing_context_uses_the_cosine() -> None:
    [without] = rank_candidates(ENGLISH, [one(context=None)])
    [same] = rank_candidates(ENGLISH, [one(context=0.85)])
    assert without == same


def test_chinese_query_weighs_cosine_higher() -> None:
    [english], [chinese] = (rank_candidates(query, [one(bm25=0.0)]) for query in (ENGLISH, CHINESE))
    assert chinese.parts["dense"] / chinese.score > english.parts["dense"] / english.score


def test_lone_fact_competes_with_conversation_turns() -> None:
    fact = one(1, cosine=0.90, bm25=9.0)
    turns = [
        one(2, cosine=0.86, bm25=6.0, neighbours=[key(3)], run="r"),
        one(3, cosine=0.88, bm25=7.0, neighbours=[key(2)], run="r"),
    ]
    assert order(rank_candidates(ENGLISH, [*turns, fact]))[0] == 1


@pytest.mark.parametrize(
    ("query", "without", "with_time"),
    [
        ("When did Ann move?", "I moved to Ostrey", "I moved to Ostrey last May"),
        ("小红什么时候搬家的", "我搬到了青埠", "我上周搬到了青埠"),
    ],
)
def test_question_for_a_time_prefers_texts_with_one(
    query: str, without: str, with_time: str
) -> None:
    pair = [one(1, text=without), one(2, text=with_time)]
    for_time = {
        UUID(each.id).int: each
        for each in rank_candidates(Query(text=query, idf={"ann": 1.0}), pair)
    }
    assert for_time[2].parts["dated"] > for_time[1].parts["dated"] == 0
    other = rank_candidates(Query(text="Who is Ann? 小红是谁", idf={"ann": 1.0}), pair)
    assert {each.parts["dated"] for each in other} == {0}


def test_specific_text_ranks_before_small_talk() -> None:
    both = [
        one(1, text="Ann: Wow, thanks, that sounds great! So happy for you!"),
        one(2, text="Ann: We hiked to Ostrey with 3 sisters in April"),
    ]
    assert order(rank_candidates(ENGLISH, both)) == [2, 1]
    chinese = [one(1, text="哈哈，真的很开心，谢谢你"), one(2, text="青埠的茶馆有红茶和糕点")]
    assert order(rank_candidates(CHINESE, chinese)) == [2, 1]


def test_scale_is_set_by_the_model() -> None:
    wide = CosineScale(low=0.1, high=0.6)
    [result] = rank_candidates(ENGLISH, [one(cosine=0.35, bm25=0.0)], wide)
    [out_of_range] = rank_candidates(ENGLISH, [one(cosine=0.35, bm25=0.0)])
    assert result.parts["dense"] > out_of_range.parts["dense"] == 0


def test_score_exponent_depends_on_the_query_language() -> None:
    [english], [chinese] = (
        rank_candidates(query, [one(cosine=0.85)]) for query in (ENGLISH, CHINESE)
    )
    assert english.score == pytest.approx(english.unscaled_score**0.54)
    assert chinese.score == pytest.approx(chinese.unscaled_score)
    assert 0.54 < compute_language_exponent("What is 茉莉花茶?") < 1
