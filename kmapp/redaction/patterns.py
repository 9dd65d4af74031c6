"""Regular expressions that are tried only where one of their words occurs: most text has none."""

import re
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pattern:
    """An expression and the words without which it cannot match."""

    words: tuple[str, ...]
    expression: re.Pattern[str]

    def found_in(self, text: str) -> bool:
        return any(word in text for word in self.words) and bool(self.expression.search(text))


def pattern(words: str, expression: str) -> Pattern:
    """`words` are separated by spaces; an underscore stands for one."""
    return Pattern(tuple(word.replace("_", " ") for word in words.split()), re.compile(expression))


def any_found(patterns: Sequence[Pattern], text: str) -> bool:
    return any(each.found_in(text) for each in patterns)
