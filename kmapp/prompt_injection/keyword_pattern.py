"""Regular expressions that run only on text with one of their keywords; most text has none."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeywordPattern:
    """An expression that cannot match a text without one of its keywords."""

    keywords: tuple[str, ...]
    expression: re.Pattern[str]

    def search(self, text: str) -> re.Match[str] | None:
        if any(keyword in text for keyword in self.keywords):
            return self.expression.search(text)
        return None


def compile_patterns(text: str) -> list[KeywordPattern]:
    """Compile patterns from text: a line of keywords, then an expression in indented lines.

    Spaces separate keywords; an underscore is a space inside one. Lines with # are comments.
    """
    patterns: list[tuple[str, list[str]]] = []
    for line in text.strip().splitlines():
        if line.startswith("    "):
            patterns[-1][1].append(line.strip())
        elif not line.startswith("# "):
            patterns.append((line, []))
    return [
        KeywordPattern(
            tuple(keyword.replace("_", " ") for keyword in keywords.split()),
            re.compile("".join(lines)),
        )
        for keywords, lines in patterns
    ]
