"""BM25 by hand: the formula that SQL must reproduce."""

import math

import pytest

from kmapp.search import bm25


def test_rare_terms_have_a_higher_idf() -> None:
    assert bm25.idf(100, 1) == pytest.approx(math.log(1 + 99.5 / 1.5))
    assert bm25.idf(100, 1) > bm25.idf(100, 50) > bm25.idf(100, 100) > 0


def test_absent_term_has_the_highest_idf() -> None:
    assert bm25.idf(100, 0) > bm25.idf(100, 1)


def test_weight_of_one_occurrence_in_an_average_document_is_one() -> None:
    assert bm25.weight(1, 10, 10.0) == pytest.approx(1.0)
    assert bm25.weight(0, 10, 10.0) == 0


def test_repetition_saturates() -> None:
    weights = [bm25.weight(n, 10, 10.0) for n in (1, 2, 3, 1000)]
    assert weights == sorted(weights)
    assert weights[1] - weights[0] > weights[2] - weights[1]
    assert weights[-1] < bm25.K1 + 1


def test_long_documents_weigh_less() -> None:
    assert bm25.weight(1, 40, 10.0) < bm25.weight(1, 10, 10.0) < bm25.weight(1, 5, 10.0)


def test_score_sums_over_the_distinct_terms_of_the_query() -> None:
    query = {"tea": 2.0, "china": 1.5, "absent": 3.0}
    expected = 2.0 * bm25.weight(2, 6, 8.0) + 1.5 * bm25.weight(1, 6, 8.0)
    assert bm25.score(query, {"tea": 2, "china": 1, "cup": 3}, 6, 8.0) == pytest.approx(expected)


def test_terms_of_an_absent_language_are_dropped() -> None:
    assert bm25.drop_unknown_terms({"redis": 3, "超时": 0, "代理": 0}) == {"redis": 3}
    assert bm25.drop_unknown_terms({"超时": 0}) == {}
    assert bm25.drop_unknown_terms({"redis": 0, "超时": 2, "代理": 0}) == {
        "redis": 0,
        "超时": 2,
        "代理": 0,
    }
    assert bm25.drop_unknown_terms({"redis": 0, "timeout": 2}) == {"redis": 0, "timeout": 2}
