"""The checks before expressions that detect instructions never leave out a match."""

import re
from collections.abc import Iterable
from importlib import import_module
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kmapp.security.prompt_injection import encodings, weak_signals
from kmapp.security.prompt_injection.prefiltered_patterns import (
    KeywordIndex,
    KeywordPattern,
    KeywordPatterns,
    has_chinese,
    load_patterns,
)

KEYWORDS = [
    f"{first}{last}" for first in ("ab", "abc", "", "x y", "é") for last in "abcdefghijklmn忽略"
]
CHINESE = [
    *("patterns_zh.toml", "patterns_zh_agents.toml"),
    *("patterns_zh_covert.toml", "patterns_zh_deceit.toml"),
]
regex_parser: Any = import_module("re._parser")


@given(text=st.text(alphabet="abcdefghijklmnxyé忽略 "))
def test_index_finds_all_keywords(text: str) -> None:
    matches = KeywordIndex(KEYWORDS).find(text)
    assert sorted(matches) == sorted(each for each in KEYWORDS if each in text)
    assert KeywordIndex(KEYWORDS[:3]).find(text) == [each for each in KEYWORDS[:3] if each in text]


def test_index_accepts_any_text() -> None:
    assert sorted(KeywordIndex(KEYWORDS).find("aba\ud800\0")) == ["a", "aba", "b"]


def list_texts(items: Iterable[tuple[Any, Any]]) -> list[str]:
    """Return a text for each alternative of a parsed expression."""
    texts = [""]
    for operation, value in items:
        name = str(operation)
        if name == "LITERAL":
            choices = [chr(value)]
        elif name == "BRANCH":
            choices = [text for branch in value[1] for text in list_texts(branch)]
        elif name == "SUBPATTERN":
            choices = list_texts(value[-1])
        elif name == "MAX_REPEAT":
            choices = list_texts(value[2]) if value[0] else ["", *list_texts(value[2])]
        elif name == "IN":
            choices = [chr(each) if str(kind) == "LITERAL" else "x" for kind, each in value]
        else:
            assert name == "AT"
            choices = [""]
        texts = [text + choice for text in texts for choice in choices]
    return texts


@pytest.mark.parametrize("group", weak_signals.GROUPS)
def test_weak_signals_contain_their_keywords(group: str) -> None:
    [pattern] = weak_signals.GROUPS[group]
    texts = list_texts(regex_parser.parse(pattern.expression.pattern))
    assert len(texts) > 2
    for text in texts:
        assert pattern.expression.search(text), text
        assert pattern.search(text), text


def can_match_without_chinese(items: Iterable[tuple[Any, Any]]) -> bool:
    """Return whether a parsed expression may match a text without Chinese characters."""
    for operation, value in items:
        name = str(operation)
        if name == "LITERAL":
            possible = not has_chinese(chr(value))
        elif name == "BRANCH":
            possible = any(map(can_match_without_chinese, value[1]))
        elif name == "SUBPATTERN":
            possible = can_match_without_chinese(value[-1])
        elif name.endswith("_REPEAT"):
            possible = value[0] == 0 or can_match_without_chinese(value[2])
        elif name == "IN":
            firsts = [each[0] if isinstance(each, tuple) else each for _, each in value]
            possible = not all(isinstance(each, int) and has_chinese(chr(each)) for each in firsts)
        else:
            possible = True
        if not possible:
            return False
    return True


def test_chinese_patterns_match_no_other_text() -> None:
    assert can_match_without_chinese(regex_parser.parse(r"[^你]x?|你"))
    assert can_match_without_chinese(regex_parser.parse("é"))
    assert not can_match_without_chinese(regex_parser.parse("(?:a|你)?[你您]b"))
    patterns = [row for name in CHINESE for row in load_patterns(name)["instructions"]]
    assert len(patterns) > 90
    for pattern in patterns:
        assert pattern.is_chinese
        parsed = regex_parser.parse(pattern.expression.pattern)
        assert not can_match_without_chinese(parsed), pattern


def test_patterns_are_searched_in_texts_with_their_keywords() -> None:
    patterns = [
        KeywordPattern((f"word{place}", f"{place}字"), re.compile(f"{place}[字!]"))
        for place in range(100)
    ]
    index = KeywordPatterns(patterns)
    assert index.match("word7 7!")
    assert index.match("7字")
    assert not index.match("7!")
    assert not index.match("word8 7!")


def test_chinese_patterns_are_searched_in_chinese_texts_only() -> None:
    index = KeywordPatterns([KeywordPattern(("ai",), re.compile("ai"), is_chinese=True)])
    assert index.match("ai 助手")
    assert not index.match("ai")
    assert not index.match("l’ai été")


@pytest.mark.parametrize("place", range(len(encodings.DECODERS)))
@given(data=st.data())
@settings(max_examples=50)
def test_encoded_texts_pass_the_checks_before_decoding(place: int, data: st.DataObject) -> None:
    decoder = encodings.DECODERS[place]
    text = data.draw(st.from_regex(decoder.expression))
    assert decoder.is_possible(text, encodings.compute_longest_word(text))


@given(text=st.from_regex(encodings.SPACED))
def test_spaced_letters_pass_the_check_before_their_expression(text: str) -> None:
    assert encodings.TWO_SPACED.search(text)
