"""Regular expressions that run only on text with one of their keywords; most text has none."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from sys import byteorder
from typing import Any

_REFERENCE = re.compile(r"\{([a-z_]+)(?: (\d+))?\}")
_MIN_INDEXED = 40  # keywords; fewer are searched one by one
_CHINESE = re.compile("[\u2e80-\u9fff\uf900-\ufaff]")
_BY_FREQUENCY = "zqxjkvbpygfwmucldrhs nioate"  # letters of English text, the most frequent one last


@dataclass(frozen=True, slots=True, eq=False)  # compared by identity, as hashes take long
class KeywordPattern:
    """An expression that cannot match a text without one of its keywords."""

    keywords: tuple[str, ...]
    expression: re.Pattern[str]
    is_chinese: bool = False  # True if every match has a Chinese character

    def search(self, text: str) -> re.Match[str] | None:
        for keyword in self.keywords:  # `any` would take twice as long
            if keyword in text:
                return self.expression.search(text)
        return None


class KeywordIndex:
    """Keywords by four of their bytes. Only those whose bytes a text has are searched in it."""

    def __init__(self, keywords: Sequence[str]) -> None:
        self._short: list[str] = []
        self._short_chinese: list[str] = []
        self._by_bytes: dict[int, list[str]] = {}
        for keyword in keywords:
            codes = list(chain(*_cut_bytes(keyword)))
            if len(keywords) >= _MIN_INDEXED and codes:
                self._by_bytes.setdefault(min(codes, key=_frequency), []).append(keyword)
            elif keyword.isascii():
                self._short.append(keyword)
            else:
                self._short_chinese.append(keyword)
        self._indexed = frozenset(self._by_bytes)

    def find(self, text: str) -> list[str]:
        """Return the keywords that the text contains."""
        keywords = self._short if text.isascii() else [*self._short, *self._short_chinese]
        if self._indexed:
            codes = set(chain(*map(self._indexed.intersection, _cut_bytes(text))))
            keywords = [*keywords, *chain.from_iterable(map(self._by_bytes.__getitem__, codes))]
        return [keyword for keyword in keywords if keyword in text]


def _cut_bytes(text: str) -> Iterator[memoryview]:
    """Yield all sequences of four bytes of a text, as numbers."""
    view = memoryview(text.encode("utf-8", "surrogatepass"))
    for start in range(4):
        yield view[start : start + (len(view) - start) // 4 * 4].cast("I")


def _frequency(four_bytes: int) -> int:
    """Return a number that is larger for bytes of more frequent characters."""
    return sum(_BY_FREQUENCY.find(chr(each)) for each in four_bytes.to_bytes(4, byteorder))


def has_chinese(text: str) -> bool:
    return not text.isascii() and _CHINESE.search(text) is not None


class KeywordPatterns:
    """Expressions of one flag. Their distinct keywords are searched once each."""

    def __init__(self, patterns: Sequence[KeywordPattern]) -> None:
        self.patterns = patterns
        self._by_keyword: dict[str, list[KeywordPattern]] = {}
        for pattern in patterns:
            for keyword in pattern.keywords:
                self._by_keyword.setdefault(keyword, []).append(pattern)
        self._index = KeywordIndex(list(self._by_keyword))

    def match(self, text: str) -> bool:
        """Return whether one of the expressions matches."""
        keywords = self._index.find(text)
        if not keywords:
            return False
        chinese = has_chinese(text)
        candidates = {
            pattern
            for keyword in keywords
            for pattern in self._by_keyword[keyword]
            if chinese or not pattern.is_chinese
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
    `{gap 4}` the fragment `gap` with 4 in place of its `{n}`. With `is_chinese = true`, no
    expression of the file matches a text without Chinese characters.
    """
    table = _read_table(name)
    fragments, is_chinese = table.pop("fragments", {}), table.pop("is_chinese", False)
    return {
        flag: [
            KeywordPattern(
                tuple(row["keywords"]),
                _compile_lines(row["expression"], fragments),
                is_chinese,
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
