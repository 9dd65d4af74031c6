"""Regular expressions that run only on text with one of their keywords; most text has none."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

_REFERENCE = re.compile(r"\{([a-z_]+)(?: (\d+))?\}")
_MIN_INDEXED = 40  # keywords; fewer are searched one by one
_BY_FREQUENCY = "zqxjkvbpygfwmucldrhs nioate"  # letters of English text, the most frequent one last


@dataclass(frozen=True, slots=True)
class KeywordPattern:
    """An expression that cannot match a text without one of its keywords."""

    keywords: tuple[str, ...]
    expression: re.Pattern[str]
    matches_ascii: bool = True  # False if every match has another character

    def search(self, text: str) -> re.Match[str] | None:
        for keyword in self.keywords:  # `any` would take twice as long
            if keyword in text:
                return self.expression.search(text)
        return None


class KeywordIndex:
    """Keywords by one of their n-grams. Only those whose n-gram a text has are searched in it."""

    def __init__(self, keywords: Sequence[str], size: int) -> None:
        self._size = size
        self._searched_always: list[str] = []
        self._by_ngram: dict[tuple[str, ...], list[str]] = {}
        for keyword in keywords:
            ngrams = list(self._ngrams_of(keyword))
            if len(keywords) < _MIN_INDEXED or not ngrams:
                self._searched_always.append(keyword)
            else:
                self._by_ngram.setdefault(min(ngrams, key=_frequency), []).append(keyword)
        self._ngrams = frozenset(self._by_ngram)

    def find(self, text: str) -> list[str]:
        """Return the keywords that the text contains."""
        ngrams = self._ngrams and self._ngrams.intersection(self._ngrams_of(text))
        indexed = chain.from_iterable(self._by_ngram[ngram] for ngram in ngrams)
        return [keyword for keyword in chain(self._searched_always, indexed) if keyword in text]

    def _ngrams_of(self, text: str) -> Iterator[tuple[str, ...]]:
        return zip(*(text[start:] for start in range(self._size)), strict=False)


def _frequency(ngram: tuple[str, ...]) -> int:
    """Return a number that is larger for n-grams of more frequent characters."""
    return sum(_BY_FREQUENCY.find(character) for character in ngram)


class KeywordPatterns:
    """Expressions of one flag. Their distinct keywords are searched once each."""

    def __init__(self, patterns: Sequence[KeywordPattern]) -> None:
        self.patterns = patterns
        self._by_keyword: dict[str, list[KeywordPattern]] = {}
        for pattern in patterns:
            for keyword in pattern.keywords:
                self._by_keyword.setdefault(keyword, []).append(pattern)
        ascii_keywords = [each for each in self._by_keyword if each.isascii()]
        other_keywords = [each for each in self._by_keyword if not each.isascii()]
        self._ascii_keywords = KeywordIndex(ascii_keywords, 3)
        self._other_keywords = KeywordIndex(other_keywords, 2)  # Chinese words are this short

    def match(self, text: str) -> bool:
        """Return whether one of the expressions matches."""
        keywords, is_ascii = self._ascii_keywords.find(text), text.isascii()
        if not is_ascii:
            keywords += self._other_keywords.find(text)
        candidates = {
            pattern
            for keyword in keywords
            for pattern in self._by_keyword[keyword]
            if pattern.matches_ascii or not is_ascii
        }
        return any(pattern.expression.search(text) for pattern in candidates)

    def search(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the first match of each expression."""
        matches = (pattern.search(text) for pattern in self.patterns)
        return (match for match in matches if match)


def _read_table(name: str) -> dict[str, Any]:
    """Read a TOML file of this package."""
    return tomllib.loads(Path(__file__).with_name(name).read_text("utf-8"))


def load_patterns(name: str) -> dict[str, list[KeywordPattern]]:
    """Load the patterns of a TOML file, by flag.

    A line break in an expression is not part of it. `{model}` is the fragment of this name, and
    `{gap 4}` the fragment `gap` with 4 in place of its `{n}`. With `matches_ascii = false`, no
    expression of the file matches an ASCII text.
    """
    table = _read_table(name)
    fragments, matches_ascii = table.pop("fragments", {}), table.pop("matches_ascii", True)
    return {
        flag: [
            KeywordPattern(
                tuple(row["keywords"]),
                _compile_lines(row["expression"], fragments),
                matches_ascii,
            )
            for row in rows
        ]
        for flag, rows in table.items()
    }


def _compile_lines(expression: str, fragments: Mapping[str, str]) -> re.Pattern[str]:
    def replace(match: re.Match[str]) -> str:
        return _join_lines(fragments[match[1]]).replace("{n}", match[2] or "{n}")

    return re.compile(_REFERENCE.sub(replace, _join_lines(expression)))


def _join_lines(text: str) -> str:
    return "".join(text.splitlines())
