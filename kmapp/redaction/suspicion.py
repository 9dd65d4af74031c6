"""What a reviewer should look at twice: hidden characters, and text that speaks to the model.

Heuristics, documented by their names below; a flag is advice and never a refusal. Patterns run over
folded text (full width, zero width and look-alike letters undone), in lower case.
"""

import base64
import binascii
import re
import unicodedata
from collections.abc import Callable, Sequence

from kmapp.redaction.deeds import ENGLISH_DEEDS
from kmapp.redaction.folding import fold
from kmapp.redaction.lookalikes import LETTERS
from kmapp.redaction.markup import REMOTE_CONTENT, ROLE_MARKUP, TOOL_CALL
from kmapp.redaction.patterns import Pattern, any_found
from kmapp.redaction.signals import many_weak_signals
from kmapp.redaction.speech import ENGLISH
from kmapp.redaction.speech_zh import CHINESE

_ZERO_WIDTH = re.compile("[\u00ad\u034f\u115f\u1160\u180e\u200b\u2060-\u2064\u3164\ufeff\uffa0]")
# A joiner belongs between emoji or inside Arabic, Indic... words; beside these it hides something.
_JOINER = re.compile(
    "[\u200c\u200d](?=[ -~\u4e00-\u9fff]|$)|(?:^|(?<=[ -~\u4e00-\u9fff]))[\u200c\u200d]"
)
_SELECTORS = re.compile(
    "[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2}|[A-Za-z][\ufe00-\ufe0e\U000e0100-\U000e01ef]"
)
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")
_FLAG_EMOJI = re.compile("\U0001f3f4[\U000e0030-\U000e007a]{2,6}\U000e007f")
_TAGS = re.compile("[\U000e0000-\U000e007f]")
_MIXED = re.compile("[A-Za-z][\u0400-\u04ff]|[\u0400-\u04ff][A-Za-z]")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{24,}+={0,2}")
_SHORTEST_SENTENCE = 6
_LONGEST_CODE = 4096  # characters of one base64 run that are decoded


def flags(text: str) -> list[str]:
    """Names of what is suspicious about a text, in the order of FLAGS."""
    seen = fold(text).text.lower().translate(LETTERS)
    return [name for name, test in _TESTS.items() if test(text, seen)]


def _hidden(text: str, seen: str) -> bool:
    """Characters that draw nothing: a reader and a model see different texts."""
    if text.isascii():
        return False
    return any(pattern.search(text) for pattern in (_ZERO_WIDTH, _JOINER, _SELECTORS))


def _bidi(text: str, seen: str) -> bool:
    """Embeddings, overrides and isolates: the order on screen is not the order in the text."""
    return bool(_BIDI.search(text))


def _tags(text: str, seen: str) -> bool:
    """U+E0000 tags outside of flag emoji: ASCII that nobody sees."""
    return bool(_TAGS.search(_FLAG_EMOJI.sub("", text)))


def _mixed(text: str, seen: str) -> bool:
    """Latin and Cyrillic letters in one word: look-alikes."""
    return bool(_MIXED.search(text))


def _any(patterns: Sequence[Pattern]) -> Callable[[str, str], bool]:
    return lambda text, seen: any_found(patterns, seen)


def _instructions(text: str, seen: str) -> bool:
    """Sentences that are known for it, or many words that are at home there."""
    return any_found(_SAID["instructions"], seen) or many_weak_signals(seen)


def _encoded(text: str, seen: str) -> bool:
    """Base64 that reads as sentences."""
    return any(_says_something(match[0]) for match in _BASE64.finditer(fold(text).text))


def _says_something(code: str) -> bool:
    return bool(_decoded(code))


def _decoded(code: str) -> str:
    """What base64 says, if it reads as sentences."""
    code = code[:_LONGEST_CODE].rstrip("=").replace("-", "+").replace("_", "/")
    try:
        raw = base64.b64decode(code[: len(code) // 4 * 4], validate=True)
        said = raw[: len(raw) - 3].decode("utf-8", "ignore")
    except binascii.Error:
        return ""
    if len(said.encode()) < 0.9 * (len(raw) - 3) or len(said) < _SHORTEST_SENTENCE:
        return ""
    readable = all(char.isprintable() or char in "\n\t\r" for char in said)
    words = " " in said.strip() or any(unicodedata.category(char) == "Lo" for char in said)
    return said if readable and words else ""


def excerpts(text: str, names: Sequence[str]) -> dict[str, str]:
    """Where these flags are to be seen: a piece of the text; of encoded text, what it says."""
    folded = fold(text)
    seen = folded.text.lower().translate(LETTERS)
    found: dict[str, str] = {}
    for name in names:
        if name in _MARKS:
            span = next((m.span() for mark in _MARKS[name] if (m := mark.search(text))), None)
            found[name] = _around(text, span)
        elif name in _SAID and len(seen) == len(folded.text):  # lower case is sometimes longer
            said = (each for each in _SAID[name] if each.found_in(seen))
            matches = (each.expression.search(seen) for each in said)
            span = next((folded.original(*m.span()) for m in matches if m and m[0]), None)
            found[name] = _around(text, span)
        elif name == "encoded_text":
            codes = (match[0] for match in _BASE64.finditer(folded.text))
            found[name] = next((_decoded(code)[:_SHOWN] for code in codes if _decoded(code)), "")
    return {name: excerpt for name, excerpt in found.items() if excerpt}


_SHOWN = 160  # characters of an excerpt
_BESIDE = 24  # characters before and after


def _around(text: str, span: tuple[int, int] | None) -> str:
    if span is None:
        return ""
    start, end = max(0, span[0] - _BESIDE), min(len(text), span[1] + _BESIDE)
    piece = text[start : min(end, start + _SHOWN)]
    return f"{'…' if start else ''}{piece}{'…' if start + len(piece) < len(text) else ''}"


_MARKS = {
    "hidden_characters": (_ZERO_WIDTH, _JOINER, _SELECTORS),
    "bidi_controls": (_BIDI,),
    "tag_characters": (_TAGS,),
    "mixed_scripts": (_MIXED,),
}
_SAID = {
    "instructions": (*ENGLISH, *ENGLISH_DEEDS, *CHINESE),
    "role_markup": tuple(ROLE_MARKUP),
    "tool_call": tuple(TOOL_CALL),
    "remote_content": tuple(REMOTE_CONTENT),
}
_TESTS: dict[str, Callable[[str, str], bool]] = {
    "hidden_characters": _hidden,
    "bidi_controls": _bidi,
    "tag_characters": _tags,
    "mixed_scripts": _mixed,
    **{name: _any(patterns) for name, patterns in _SAID.items()},
    "instructions": _instructions,
    "encoded_text": _encoded,
}
FLAGS = tuple(_TESTS)
