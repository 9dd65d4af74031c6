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
    load_patterns,
)

KEYWORDS = [f"{first}{last}" for first in ("ab", "bc", "", "x y") for last in "abcdefghijklmn"]
regex_parser: Any = import_module("re._parser")


@pytest.mark.parametrize("size", [2, 3])
@given(text=st.text(alphabet="abcdefghijklmnxy "))
def test_index_finds_all_keywords(size: int, text: str) -> None:
    matches = KeywordIndex(KEYWORDS, size).find(text)
    assert sorted(matches) == sorted(each for each in KEYWORDS if each in text)
    assert KeywordIndex(KEYWORDS[:3], size).find(text) == [
        each for each in KEYWORDS[:3] if each in text
    ]


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


def can_match_ascii(items: Iterable[tuple[Any, Any]]) -> bool:
    """Return whether a parsed expression may match a text of ASCII characters."""
    for operation, value in items:
        name = str(operation)
        if name == "LITERAL":
            possible = value < 128
        elif name == "BRANCH":
            possible = any(map(can_match_ascii, value[1]))
        elif name == "SUBPATTERN":
            possible = can_match_ascii(value[-1])
        elif name.endswith("_REPEAT"):
            possible = value[0] == 0 or can_match_ascii(value[2])
        elif name == "IN":
            firsts = [each[0] if isinstance(each, tuple) else each for _, each in value]
            possible = not all(isinstance(first, int) and first > 127 for first in firsts)
        else:
            possible = True
        if not possible:
            return False
    return True


def test_patterns_that_need_other_characters_match_no_ascii_text() -> None:
    assert can_match_ascii(regex_parser.parse(r"[^你]x?|你"))
    assert not can_match_ascii(regex_parser.parse("(?:a|你)?[你您]b"))
    patterns = load_patterns("patterns_zh.toml")["instructions"]
    assert len(patterns) > 40
    for pattern in patterns:
        assert not pattern.matches_ascii
        assert not can_match_ascii(regex_parser.parse(pattern.expression.pattern)), pattern


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
