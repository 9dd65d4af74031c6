"""Regular expressions that run only on text with one of their keywords; most text has none."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_REFERENCE = re.compile(r"\{([a-z_]+)(?: (\d+))?\}")


@dataclass(frozen=True, slots=True)
class KeywordPattern:
    """An expression that cannot match a text without one of its keywords."""

    keywords: tuple[str, ...]
    expression: re.Pattern[str]

    def search(self, text: str) -> re.Match[str] | None:
        for keyword in self.keywords:  # `any` would take twice as long
            if keyword in text:
                return self.expression.search(text)
        return None


class KeywordPatterns:
    """Expressions of one flag. Their distinct keywords are searched once each."""

    def __init__(self, patterns: Sequence[KeywordPattern]) -> None:
        self.patterns = patterns
        self._by_keyword: dict[str, list[KeywordPattern]] = {}
        for pattern in patterns:
            for keyword in pattern.keywords:
                self._by_keyword.setdefault(keyword, []).append(pattern)
        self._ascii_keywords = [keyword for keyword in self._by_keyword if keyword.isascii()]

    def match(self, text: str) -> bool:
        """Return whether one of the expressions matches."""
        keywords = self._ascii_keywords if text.isascii() else self._by_keyword
        candidates = {
            pattern
            for keyword in [each for each in keywords if each in text]
            for pattern in self._by_keyword[keyword]
        }
        return any(pattern.expression.search(text) for pattern in candidates)

    def search(self, text: str) -> Iterator[re.Match[str]]:
        """Yield the first match of each expression."""
        matches = (pattern.search(text) for pattern in self.patterns)
        return (match for match in matches if match)


def read_table(name: str) -> dict[str, Any]:
    """Read a TOML file of this package."""
    return tomllib.loads(Path(__file__).with_name(name).read_text("utf-8"))


def load_patterns(name: str) -> dict[str, list[KeywordPattern]]:
    """Load the patterns of a TOML file, by flag.

    A line break in an expression is not part of it. `{model}` is the fragment of this name, and
    `{gap 4}` the fragment `gap` with 4 in place of its `{n}`.
    """
    table = read_table(name)
    fragments = table.pop("fragments", {})
    return {
        flag: [
            KeywordPattern(tuple(row["keywords"]), compile_lines(row["expression"], fragments))
            for row in rows
        ]
        for flag, rows in table.items()
    }


def compile_lines(expression: str, fragments: Mapping[str, str]) -> re.Pattern[str]:
    def replace(match: re.Match[str]) -> str:
        return _join_lines(fragments[match[1]]).replace("{n}", match[2] or "{n}")

    return re.compile(_REFERENCE.sub(replace, _join_lines(expression)))


def _join_lines(text: str) -> str:
    return "".join(text.splitlines())
