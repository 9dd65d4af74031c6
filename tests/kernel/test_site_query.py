"""Parsing of searches, and highlights of their matches."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kmapp.text.highlight import extract_passage, split_at_matches
from kmapp.web.site_search.query import MAX_LENGTH, SiteQuery


def test_words_phrases_and_filters_are_told_apart() -> None:
    query = SiteQuery.parse('tea kind:fact "Opens At Nine" User:"Ada L" room')
    assert query.words == "tea room"
    assert query.phrases == ["Opens At Nine"]
    assert query.filters == {"kind": "fact", "user": "Ada L"}
    assert query.required == ["open", "nine"]
    assert query.has_phrases("It opens at nine.")
    assert not query.has_phrases("It opens at ten to nine.")


@pytest.mark.parametrize("text", ["10:30", "http://tea.example/x", "note: tea", "a:b"])
def test_colons_in_words_are_no_filters(text: str) -> None:
    query = SiteQuery.parse(text)
    assert query.filters == {}
    assert query.words == text


@pytest.mark.parametrize(
    ("text", "prefix"), [("warm kett", "kett"), ("kett user:ada", ""), ("茶室", ""), ("", "")]
)
def test_last_word_may_be_unfinished(text: str, prefix: str) -> None:
    assert SiteQuery.parse(text).prefix == prefix


def test_names_match_by_beginnings_of_words() -> None:
    assert SiteQuery.parse("api cre").matches_name("Create an API key")
    assert SiteQuery.parse("密钥").matches_name("创建 API 密钥")
    assert not SiteQuery.parse("eat").matches_name("Create an API key")
    assert not SiteQuery.parse("kind:fact").matches_name("Create an API key")


def test_inflected_words_and_chinese_words_are_marked() -> None:
    query = SiteQuery.parse("opening 茶室")
    assert query.mark("It opens; 我们的茶室很小") == [
        ("It ", False),
        ("opens", True),
        ("; 我们的", False),
        ("茶室", True),
        ("很小", False),
    ]


def test_passage_surrounds_the_first_match() -> None:
    text = "Nothing here. " * 60 + "The kettle sings. " + "More of it. " * 60
    pieces = SiteQuery.parse("kettle").passage(text)
    assert ("kettle", True) in pieces
    assert pieces[0] == pieces[-1] == ("…", False)
    assert len("".join(part for part, _ in pieces)) < 300


@given(st.text(max_size=400), st.text(max_size=400))
def test_any_text_is_parsed_and_marked(search: str, text: str) -> None:
    query = SiteQuery.parse(search)
    assert len(query.text) <= MAX_LENGTH
    assert "".join(part for part, _ in query.mark(text)) == text
    assert extract_passage(text, query.terms, query.phrases) or not text


def test_overlapping_spans_are_joined() -> None:
    query = SiteQuery.parse('"tea room" rooms')
    assert query.mark("tea rooms") == [("tea rooms", True)]
    assert split_at_matches("", []) == []
