"""Text as a reader sees it, for matching: full width made ASCII, hidden characters left out.

Matches are found in the folded text and mapped back, so what is redacted is the original span.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

_DASHES = "\u2212\u30fc"  # minus sign; the long vowel mark is typed for a dash between digits
_INVISIBLE = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"  # draw nothing, yet no format characters


@dataclass(frozen=True, slots=True)
class Folded:
    """Folded text, and where in the original each of its characters comes from (None: same)."""

    text: str
    origins: Sequence[int] | None

    def original(self, start: int, end: int) -> tuple[int, int]:
        """The original span of a non-empty span of the folded text."""
        if self.origins is None:
            return start, end
        return self.origins[start], self.origins[end - 1] + 1


class _Folds(dict[str, str]):
    """What each character folds to; filled as characters turn up."""

    def __missing__(self, char: str) -> str:
        """Work it out once."""
        folded = self[char] = _fold(char)
        return folded


_folds = _Folds()


def fold(text: str) -> Folded:
    if text.isascii():
        return Folded(text, None)
    parts = [_folds[char] for char in text]
    if all(len(part) == 1 for part in parts):
        return Folded("".join(parts), None)
    origins = [place for place, part in enumerate(parts) for _ in part]
    return Folded("".join(parts), origins)


def hidden(char: str) -> bool:
    """Whether a character is there for machines only."""
    return (
        unicodedata.category(char) == "Cf"
        or "\ufe00" <= char <= "\ufe0f"
        or "\U000e0100" <= char <= "\U000e01ef"
        or char in _INVISIBLE
    )


def _fold(char: str) -> str:
    if char.isascii():
        return char
    if hidden(char):
        return ""
    if char.isdecimal():
        return str(unicodedata.decimal(char))
    if unicodedata.category(char) == "Pd" or char in _DASHES:
        return "-"
    if unicodedata.category(char) == "Zs":
        return " "
    return unicodedata.normalize("NFKC", char)
