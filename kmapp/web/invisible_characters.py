"""Characters that a reader cannot see but a model can. Pages display them by name."""

import re
import unicodedata
from collections.abc import Iterator

from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString

# Zero width, direction marks and overrides, soft hyphen, fillers, tags, variation selectors and the
# control characters, but not tab and line feed. Emoji need U+FE0F and, between two, U+200D.
INVISIBLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e"
    "\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb"
    "\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)
_JOINER = "\u200d"
_EMOJI_PARTS = {"So", "Sk", "Mn"}  # pictures, skin tones, and the selector that asks for colour


def split_invisible(text: str) -> Iterator[tuple[str, bool]]:
    """Yield (piece, False) for visible text and (character, True) for an invisible character."""
    start = 0
    for match in INVISIBLE.finditer(text):
        if _joins_emoji(text, match.start()):
            continue
        if match.start() > start:
            yield text[start : match.start()], False
        yield match.group(), True
        start = match.end()
    if start < len(text):
        yield text[start:], False


def _joins_emoji(text: str, at: int) -> bool:
    neighbours = text[at - 1 : at] + text[at + 1 : at + 2]
    return (
        text[at] == _JOINER
        and len(neighbours) == 2  # noqa: PLR2004 - one on each side
        and all(unicodedata.category(neighbour) in _EMOJI_PARTS for neighbour in neighbours)
    )


def mark_invisible(text: str) -> SafeString:
    """Escape a text and mark each invisible character."""
    if not INVISIBLE.search(text):
        return escape(text)
    pieces = split_invisible(text)
    return format_html_join(
        "", "{}", ((_render_badge(piece) if invisible else piece,) for piece, invisible in pieces)
    )


def _render_badge(character: str) -> SafeString:
    return format_html(
        '<span class="invisible-char" title="{}">{}</span>',
        unicodedata.name(character, "CONTROL CHARACTER"),
        f"U+{ord(character):04X}",
    )
