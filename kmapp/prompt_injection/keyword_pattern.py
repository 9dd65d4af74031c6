"""Regular expressions that run only on text with one of their keywords; most text has none."""

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeywordPattern:
    """An expression that cannot match a text without one of its keywords."""

    keywords: tuple[str, ...]
    expression: re.Pattern[str]

    def search(self, text: str) -> re.Match[str] | None:
        """Return the first match in a folded text in lower case."""
        if any(keyword in text for keyword in self.keywords):
            return self.expression.search(text)
        return None


def pattern(keywords: str, expression: str) -> KeywordPattern:
    """Compile an expression. Spaces separate keywords; an underscore is a space inside one."""
    words = tuple(keyword.replace("_", " ") for keyword in keywords.split())
    return KeywordPattern(words, re.compile(expression))
