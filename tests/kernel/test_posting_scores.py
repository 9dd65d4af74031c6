"""Scores of packed postings: of all documents, and of those that a search covers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmapp.search import bm25
from kmapp.search.posting_scores import (
    Postings,
    build_mask,
    find_best,
    match_documents,
    pack,
    score_documents,
    unpack,
)

NUMBERS = st.integers(0, 40)
DOCUMENTS = st.dictionaries(  # the length of each document, and how often it contains each term
    NUMBERS,
    st.tuples(st.integers(1, 70_000), st.dictionaries(st.sampled_from("abc"), st.integers(1, 9))),
)
IDF = {"b": 2.5, "unknown": 2.0, "a": 1.3, "c": 0.0}
AVERAGE = 7.3


def pack_terms(documents: dict[int, tuple[int, dict[str, int]]]) -> dict[str, Postings]:
    packed = {}
    for term in "abc":
        postings = [
            (number, length, frequencies[term])
            for number, (length, frequencies) in sorted(documents.items())
            if term in frequencies
        ]
        if postings:
            packed[term] = unpack(pack(postings))
    return packed


@given(documents=DOCUMENTS, groups=st.lists(st.sets(st.integers(0, 60)), max_size=3))
def test_scores_are_those_of_bm25(
    documents: dict[int, tuple[int, dict[str, int]]], groups: list[set[int]]
) -> None:
    packed = pack_terms(documents)
    expected = {
        number: bm25.score(IDF, frequencies, min(length, 2**16 - 1), AVERAGE)
        for number, (length, frequencies) in sorted(documents.items())
    }
    expected = {number: score for number, score in expected.items() if score}
    scores = score_documents(packed, IDF, AVERAGE)
    result = dict(zip(scores.numbers.tolist(), scores.scores.tolist(), strict=True))
    assert result == pytest.approx(expected)
    assert list(result) == list(expected)
    members = set[int]().union(*groups)
    mask = build_mask([np.array(sorted(each), dtype=np.uint32) for each in groups])
    among = score_documents(packed, IDF, AVERAGE, mask)
    assert among.numbers.tolist() == [number for number in expected if number in members]
    numbers = list(range(70))
    assert among.look_up(numbers) == [
        result.get(number, 0.0) if number in members else 0.0 for number in numbers
    ]
    matched, _ = match_documents(packed, IDF, AVERAGE, numbers)
    assert matched == scores.look_up(numbers)


def test_equal_scores_may_exceed_the_limit() -> None:
    packed = {"a": unpack(pack([(1, 5, 1), (2, 5, 2), (3, 5, 2), (4, 5, 3), (9, 5, 2)]))}
    scores = score_documents(packed, {"a": 1.0}, 5.0)
    assert find_best(scores, 1).numbers.tolist() == [4]
    assert find_best(scores, 2).numbers.tolist() == [2, 3, 4, 9]
    assert find_best(scores, 10) is scores


def test_nothing_is_packed() -> None:
    scores = score_documents({}, IDF, AVERAGE, build_mask([]))
    assert len(scores) == 0
    assert scores.look_up([3]) == [0.0]
