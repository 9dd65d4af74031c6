"""Coverage of a query's words by words of similar meaning."""

from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kmapp.search.bm25 import MAX_MASK_TERMS
from kmapp.search.neighbour_evidence import Surroundings
from kmapp.search.similar_word_coverage import STEPS, compute_similar_coverage
from kmapp.text import word_vectors
from kmapp.text.query_independent_features import compute_ranking_features
from kmapp.text.word_vectors import SCALE, WordVectors, compare_words

QUERY = "Which pets does Ann have?"
IDF = {"pet": 3.0, "ann": 2.0}
DOG = "I took the dog to the vet."
TRAIN = "The train was late again."


def cover(
    texts: Sequence[str],
    adjacency: Sequence[Sequence[int]] = (),
    *,
    query: str = QUERY,
    idf: Mapping[str, float] = MappingProxyType(IDF),
) -> list[float]:
    words = [compute_ranking_features(text).words for text in texts]
    surroundings = Surroundings(adjacency or [[]] * len(texts))
    return compute_similar_coverage(query, idf, words, surroundings)


def test_similar_words_count_in_part() -> None:
    dog, train, pets, both = cover([DOG, TRAIN, "Many pets are here.", "Ann's pets are here."])
    assert train < dog < pets < both
    assert pets == pytest.approx(3 / 5, abs=0.1)
    assert both == pytest.approx(1.0, abs=0.02)


def test_surroundings_count_up_to_some_steps() -> None:
    texts = [DOG, *[TRAIN] * (STEPS + 1)]
    chain = [[n for n in (row - 1, row + 1) if 0 <= n < len(texts)] for row in range(len(texts))]
    [alone, elsewhere] = cover([DOG, TRAIN])
    assert cover(texts, chain) == [alone] * (STEPS + 1) + [elsewhere]


def test_value_depends_on_no_other_text() -> None:
    many = [f"{DOG} It was day {number}." for number in range(300)]
    together = cover(many)
    assert together == [value for text in many for value in cover([text])]
    assert cover(many[::-1]) == together[::-1]


def test_chinese_words_are_compared_whole() -> None:
    texts = ["我昨天买了一只猫。", "火车晚点了。"]
    cat, train = cover(texts, query="谁的猫？", idf={"猫": 3.0})
    assert train < cat
    assert cat == pytest.approx(1.0, abs=0.01)


def test_only_the_rarest_words_of_a_long_query_count() -> None:
    many = {f"w{number}": 2.0 for number in range(MAX_MASK_TERMS)}
    query = " ".join([*many, "pet"])
    [without] = cover(["pet"], query=query, idf=many)
    [last] = cover(["pet"], query=query, idf={**many, "pet": 2.0})
    [first] = cover(["pet"], query=query, idf={"pet": 2.0, **many})
    assert without == last < first


@pytest.mark.parametrize(
    ("query", "idf", "texts"),
    [(QUERY, {}, [DOG]), ("?", IDF, [DOG]), (QUERY, IDF, [""]), (QUERY, IDF, []), ("", {}, [])],
)
def test_nothing_to_compare(query: str, idf: dict[str, float], texts: list[str]) -> None:
    assert cover(texts, query=query, idf=idf) == [0.0] * len(texts)


def test_words_beyond_the_capacity_are_like_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_vectors, "CAPACITY", 4)
    monkeypatch.setattr(word_vectors, "_current", word_vectors.WordVectors())
    [[known, unknown]] = compare_words(["dog", "cat"], [("dog", "horse", "cow", "cat")])
    assert known == pytest.approx(1.0, abs=0.01)
    assert unknown < known
    # The next comparison starts without vectors.
    [[dog, cat]] = compare_words(["dog", "cat"], [("cat",)])
    assert cat == pytest.approx(1.0, abs=0.01)
    assert dog < cat


WORDS = [
    "dog",
    "cat",
    "vet",
    "train",
    "1999",
    "ann's",
    "猫",
    "火车",
    "昨天",
    "antidisestablishment",
]
word_tuples = st.lists(st.sampled_from(WORDS), unique=True).map(tuple)


@cache
def compute_cosine(one: str, other: str) -> float:
    """Return the cosine of two words, from whole numbers of Python."""
    vectors = WordVectors()
    pair = vectors.rows[vectors.list_rows([one, other])].astype(int).tolist()
    return float(sum(a * b for a, b in zip(*pair, strict=True)) / SCALE**2)


@settings(deadline=None)
@given(
    query=word_tuples,
    texts=st.lists(word_tuples, max_size=12),
    max_multiplications=st.sampled_from([1, 2_000, 2**18]),
    max_cached_texts=st.sampled_from([1, 3, 30_000]),
)
def test_cosines_are_those_of_each_pair_of_words(
    query: tuple[str, ...],
    texts: list[tuple[str, ...]],
    max_multiplications: int,
    max_cached_texts: int,
) -> None:
    expected = [
        [max((compute_cosine(word, own) for own in words), default=0.0) for word in query]
        for words in texts
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(word_vectors, "MAX_MULTIPLICATIONS", max_multiplications)
        patch.setattr(word_vectors, "MAX_CACHED_TEXTS", max_cached_texts)
        for _ in range(2):  # the second time, with cached texts
            assert compare_words(query, texts).tolist() == expected
