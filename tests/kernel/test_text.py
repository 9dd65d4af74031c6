"""Terms of English and Chinese texts."""

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from snowballstemmer import stemmer
from snowballstemmer.english_stemmer import EnglishStemmer

from kmapp.text.terms import (
    STOP_WORDS,
    TERM_LENGTH,
    chinese_share,
    extract_terms,
    find_first_term,
    normalise,
)
from kmapp.text.whole_words import contains_person_id
from tests.timing import assert_linear, assert_ratio


def test_english_words_are_stemmed() -> None:
    assert extract_terms("She was running") == extract_terms("the runs") == ["run"]


def test_threads_stem_different_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thread may stem a word while another thread is stemming a different one."""
    word, other_word = words = ("quibblings", "wafflings")
    expected = [stemmer("english").stemWord(each) for each in words]
    stem, other_terms = EnglishStemmer._stem, list[str]()  # noqa: SLF001 - where a thread stops

    def stem_after_another(self: Any) -> Any:
        if not other_terms:
            other_terms.append(other_word)
            other_terms[:] = extract_terms(other_word)
        return stem(self)

    monkeypatch.setattr(EnglishStemmer, "_stem", stem_after_another)
    assert [*extract_terms(word), *other_terms] == expected


def test_chinese_words_are_segmented_with_subwords() -> None:
    assert set(extract_terms("我在北京大学读书")) >= {"北京大学", "北京", "大学", "读书"}


def test_unknown_chinese_name_is_indexed_by_bigrams() -> None:
    name = set(extract_terms("麴黟倩"))
    assert {"麴黟", "黟倩"} <= name
    assert {"麴黟", "黟倩"} <= set(extract_terms("昨天麴黟倩说她喜欢火锅"))


def test_a_word_the_dictionary_lacks_survives_a_stop_character() -> None:
    assert "年会" in set(extract_terms("年会在哪里开")) & set(extract_terms("公司年会定在三亚举行"))


def test_mixed_text_has_terms_of_both_languages() -> None:
    assert {"deploy", "北京", "服务器"} <= set(extract_terms("Deployed 到北京的服务器"))


@pytest.mark.parametrize(
    ("written", "asked"),
    [
        ("ＡＢＣ１２３", "abc123"),
        ("Straße", "STRASSE"),
        ("1,308 tonnes", "1308 tonne"),
        ("Ann's", "Ann’s"),
        ("Ann`s", "ann"),
        ("ﬁne", "fine"),
    ],
)
def test_spelling_variants_share_a_term(written: str, asked: str) -> None:
    assert extract_terms(written) == extract_terms(asked)


@pytest.mark.parametrize(
    ("text", "whole", "piece"),
    [
        ("mail ann.lee@example.com now", "ann.lee@example.com", "lee"),
        ("upgrade to v1.2.3", "v1.2.3", "v1"),
        ("call get_user_by_id", "get_user_by_id", "user"),
        ("order AB-1234", "ab-1234", "1234"),
        ("on 2023-05-08", "2023-05-08", "2023"),
    ],
)
def test_identifiers_are_indexed_whole_and_in_pieces(text: str, whole: str, piece: str) -> None:
    assert {whole, piece} <= set(extract_terms(text))


@pytest.mark.parametrize(
    "text", ["", "who are you?", "这是什么", "don't can’t isn't", "…。!", "\n"]
)
def test_text_without_words_has_no_terms(text: str) -> None:
    assert extract_terms(text) == []


def test_names_and_letters_that_look_like_contractions_are_preserved() -> None:
    assert extract_terms("Don won vitamin D") == ["don", "won", "vitamin", "d"]


@pytest.mark.parametrize("text", ["안녕하세요", "とても", "สวัสดี"])
def test_scripts_without_a_dictionary_use_bigrams(text: str) -> None:
    assert set(extract_terms(text[:2])) <= set(extract_terms(text))


def test_repeated_terms_are_repeated() -> None:
    assert extract_terms("tea tea 茶叶 茶叶") == ["tea", "tea", "茶叶", "茶叶"]


@settings(deadline=None)  # the first call loads dictionaries
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=300))
def test_any_text_has_bounded_terms_without_stop_words(text: str) -> None:
    for term in extract_terms(text):
        assert 0 < len(term) <= TERM_LENGTH
        assert term.strip() == term


@given(st.text(alphabet="abnstxAZ019 -_.@/+:,'`\n", max_size=200))
@example("Don't owe 1,000,000 to Ann's a-1_b.c@d/e+f:g, they'll: 12,345 1,23")
@example("a" * 300 + "-b")
def test_terms_of_ascii_text_do_not_depend_on_other_text(text: str) -> None:
    assert extract_terms(text) == extract_terms(f"{text} 。")


def test_stop_words_are_dropped() -> None:
    assert not STOP_WORDS & set(extract_terms(" ".join(sorted(STOP_WORDS))))


@pytest.mark.parametrize("unit", ["a", "n'", "1,", "北", "ก", "a.", "'t", "don't", "_"])
def test_hostile_repetition_costs_linear_time(unit: str) -> None:
    extract_terms(unit)
    assert_linear(lambda size: extract_terms(unit * (size // len(unit))), 30_000)


def test_short_texts_cost_little_more_than_a_long_one() -> None:
    texts = [
        f"Ann {n} 昨天在北京买了一本书, and read it on the train to Suzhou" for n in range(600)
    ]
    extract_terms(texts[0])
    assert_ratio(lambda: extract_terms(" ".join(texts)), lambda: list(map(extract_terms, texts)), 4)


def test_normalise_composes_and_unifies_line_ends() -> None:
    assert normalise("e\u0301\r\nb\rc") == "é\nb\nc"


@pytest.mark.parametrize("text", ["ＡＢ", "  a\t ", "ﬁ", "\u200b\ufeff", "ا\u202eb", "x\x00", "𠮷"])
def test_normalise_leaves_all_else_untouched(text: str) -> None:
    assert normalise(text) == text


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("hello there", 0.0, 0.0),
        ("", 0.0, 0.0),
        ("你好世界", 1.0, 1.0),
        ("GPT 在北京大学用什么", 0.7, 0.95),
        ("the 茶 we drank in May", 0.05, 0.2),
    ],
)
def test_chinese_share_counts_words_not_letters(text: str, low: float, high: float) -> None:
    assert low <= chinese_share(text) <= high


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("Emily's dog barked", "emili"),
        ("[Ann] moved", "ann"),
        ("北京大学很大", "北京"),
        ("I moved", ""),
        ("我喜欢茶", ""),
        ("…", ""),
        ("", ""),
    ],
)
def test_opening_is_the_first_significant_word(text: str, term: str) -> None:
    assert find_first_term(text) == term


@settings(deadline=None)  # the first call loads dictionaries
@given(st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=100))
def test_the_opening_is_bounded(text: str) -> None:
    assert len(find_first_term(text)) <= 8 * TERM_LENGTH


def test_a_stop_word_is_no_opening() -> None:
    """Other words may have a stem that equals a stop word: "INS" has "in"."""
    assert {word for word in STOP_WORDS if find_first_term(word) == word} == set()


@pytest.mark.parametrize(
    ("person", "text", "is_named"),
    [
        ("ann", "What does ann like?", True),
        ("ann", "Anna and joann, ann_2", False),
        ("ann", "ann喜欢什么", True),
        ("米拉", "请问米拉喜欢什么", True),
        ("李ann", "老李anna", False),
    ],
)
def test_id_of_a_person_is_a_word_if_its_script_has_words(
    person: str, text: str, *, is_named: bool
) -> None:
    assert contains_person_id(text, person) == is_named
