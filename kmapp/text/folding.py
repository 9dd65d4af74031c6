"""Text for matching, without hidden characters and in ASCII instead of full width.

Matches in the folded text are mapped back, so that redaction replaces the original span.
"""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

Span = tuple[int, int]
_DASHES = "\u2212\u30fc"  # minus sign; the long vowel mark is typed for a dash between digits
_INVISIBLE = "\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0"  # invisible, but not category Cf


@dataclass(frozen=True, slots=True)
class Folded:
    """Folded text and the original position of each character (None: the same)."""

    text: str
    origins: Sequence[int] | None

    def original(self, start: int, end: int) -> Span:
        """Return the original span of a non-empty span of the folded text."""
        if self.origins is None:
            return start, end
        return self.origins[start], self.origins[end - 1] + 1


class _FoldCache(dict[str, str]):
    """The folded form of each character, computed at its first use."""

    def __missing__(self, char: str) -> str:
        folded = self[char] = _fold(char)
        return folded


_cache = _FoldCache()


def fold(text: str) -> Folded:
    """Fold a text; hidden characters are dropped and some others become several."""
    if text.isascii():
        return Folded(text, None)
    parts = [_cache[char] for char in text]
    if all(len(part) == 1 for part in parts):
        return Folded("".join(parts), None)
    origins = [place for place, part in enumerate(parts) for _ in part]
    return Folded("".join(parts), origins)


def _fold(char: str) -> str:
    if char.isascii():
        return char
    category = unicodedata.category(char)
    selector = "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"
    if category == "Cf" or selector or char in _INVISIBLE:
        return ""
    if char.isdecimal():
        return str(unicodedata.decimal(char))
    if category == "Pd" or char in _DASHES:
        return "-"
    if category == "Zs":
        return " "
    return unicodedata.normalize("NFKC", char)
