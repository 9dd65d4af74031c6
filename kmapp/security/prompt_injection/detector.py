"""Flags for a reviewer: hidden characters, and text that gives instructions to a model.

A flag is advice: it never refuses a text.
"""

import base64
import binascii
import re
import unicodedata
from collections.abc import Iterator, Sequence

from kmapp.security.prompt_injection.chinese_signals import has_chinese_signals
from kmapp.security.prompt_injection.confusables import LATIN_LETTERS, SIMPLIFIED
from kmapp.security.prompt_injection.encodings import compute_longest_word, decode_texts
from kmapp.security.prompt_injection.prefiltered_patterns import KeywordPatterns, load_patterns
from kmapp.security.prompt_injection.weak_signals import has_weak_signals
from kmapp.text.folding import Folded, Span, fold

_ZERO_WIDTH = re.compile("[\u00ad\u034f\u115f\u1160\u180e\u200b\u2060-\u2064\u3164\ufeff\uffa0]")
# Joiners belong between emoji and inside Arabic or Indic words, not next to ASCII or Han.
_JOINER = re.compile(
    "[\u200c\u200d](?=[ -~\u4e00-\u9fff]|$)|(?:^|(?<=[ -~\u4e00-\u9fff]))[\u200c\u200d]"
)
_SELECTORS = re.compile(
    "[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2}|[A-Za-z][\ufe00-\ufe0e\U000e0100-\U000e01ef]"
)
_BIDI = re.compile("[\u202a-\u202e\u2066-\u2069]")
_FLAG_EMOJI = re.compile("\U0001f3f4[\U000e0030-\U000e007a]{2,6}\U000e007f")
_TAGS = re.compile("[\U000e0000-\U000e007f]")
_MIXED_SCRIPTS = re.compile("[A-Za-z][\u0400-\u04ff]|[\u0400-\u04ff][A-Za-z]")
_MIN_BASE64_LENGTH = 24  # characters
_BASE64 = re.compile(rf"[A-Za-z0-9+/_-]{{{_MIN_BASE64_LENGTH},}}+={{0,2}}")
_MIN_SENTENCE_LENGTH = 6  # decoded characters
_MAX_BASE64_LENGTH = 4096  # characters of one run that are decoded
_EXCERPT_LENGTH = 160
_EXCERPT_CONTEXT = 24  # characters before and after a match

# Expressions over the original text, and over the folded text in lower case.
_CHARACTER_FLAGS = {
    "hidden_characters": (_ZERO_WIDTH, _JOINER, _SELECTORS),
    "bidi_controls": (_BIDI,),
    "tag_characters": (_TAGS,),
    "mixed_scripts": (_MIXED_SCRIPTS,),
}
# One file of patterns for each language, and more for Chinese.
_LANGUAGES = ("en", "zh", "zh_agents", "zh_covert", "zh_deceit", "de", "fr", "es", "it")
_INSTRUCTIONS = KeywordPatterns(
    [row for each in _LANGUAGES for row in load_patterns(f"patterns_{each}.toml")["instructions"]]
)
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")  # in decoded text, which findings quote
_LETTERS = LATIN_LETTERS | SIMPLIFIED
_MARKUP = {flag: KeywordPatterns(rows) for flag, rows in load_patterns("markup.toml").items()}
_PATTERN_FLAGS = {"instructions": _INSTRUCTIONS, **_MARKUP}
FLAGS = (*_CHARACTER_FLAGS, *_PATTERN_FLAGS, "encoded_text")


def detect_flags(text: str) -> list[str]:
    """Return the flags of a text, in the order of FLAGS."""
    folded = fold(text)
    lower = _lower_folded(folded)
    return [flag for flag in FLAGS if _is_flagged(flag, text, folded.text, lower)]


def extract_excerpts(text: str, flags: Sequence[str]) -> dict[str, str]:
    """Return the part of the text behind each flag; of encoded text, the decoded beginning."""
    folded = fold(text)
    lower = _lower_folded(folded)
    excerpts: dict[str, str] = {}
    for flag in flags:
        if flag in _CHARACTER_FLAGS:
            matches = (each.search(text) for each in _CHARACTER_FLAGS[flag])
            excerpts[flag] = _build_excerpt(text, next((m.span() for m in matches if m), None))
        # Lower case is sometimes longer, and positions in it then differ from those in the text.
        elif flag in _PATTERN_FLAGS and len(lower) == len(folded.text):
            first_matches = _PATTERN_FLAGS[flag].search(lower)
            spans = (folded.original(*match.span()) for match in first_matches if match[0])
            excerpts[flag] = _build_excerpt(text, next(spans, None))
        elif flag == "encoded_text":
            decoded = next(_decode_hidden_texts(folded.text), "")
            excerpts[flag] = _UNSTORABLE.sub("\ufffd", decoded[:_EXCERPT_LENGTH])
    return {flag: excerpt for flag, excerpt in excerpts.items() if excerpt}


def _lower_folded(folded: Folded) -> str:
    return folded.text.lower().translate(_LETTERS)


def _is_flagged(flag: str, text: str, folded: str, lower: str) -> bool:
    if flag == "encoded_text":
        return any(_decode_hidden_texts(folded))
    if flag in _PATTERN_FLAGS:
        matches = _PATTERN_FLAGS[flag].match(lower)
        return matches or (flag == "instructions" and _has_signals(lower))
    if text.isascii():
        return False
    if flag == "tag_characters":
        text = _FLAG_EMOJI.sub("", text)
    return any(each.search(text) for each in _CHARACTER_FLAGS[flag])


def _has_signals(lower: str) -> bool:
    return has_weak_signals(lower) or has_chinese_signals(lower)


def _decode_hidden_texts(text: str) -> Iterator[str]:
    """Yield base64 that decodes to sentences, and other encodings that decode to instructions."""
    yield from _decode_sentences(text)
    for decoded in decode_texts(text):
        if _INSTRUCTIONS.match(_lower_folded(fold(decoded))):
            yield decoded


def _decode_sentences(text: str) -> Iterator[str]:
    """Yield the content of each base64 run that decodes to readable sentences."""
    if compute_longest_word(text) < _MIN_BASE64_LENGTH:
        return
    for match in _BASE64.finditer(text):
        code = match[0][:_MAX_BASE64_LENGTH].rstrip("=").replace("-", "+").replace("_", "/")
        try:
            raw = base64.b64decode(code[: len(code) // 4 * 4], validate=True)
        except binascii.Error:
            continue
        content = raw[: len(raw) - 3].decode("utf-8", "ignore")
        if len(content.encode()) < 0.9 * (len(raw) - 3) or len(content) < _MIN_SENTENCE_LENGTH:
            continue
        readable = all(char.isprintable() or char in "\n\t\r" for char in content)
        has_words = " " in content.strip() or any(unicodedata.category(c) == "Lo" for c in content)
        if readable and has_words:
            yield content


def _build_excerpt(text: str, span: Span | None) -> str:
    if span is None:
        return ""
    start = max(0, span[0] - _EXCERPT_CONTEXT)
    piece = text[start : min(len(text), span[1] + _EXCERPT_CONTEXT, start + _EXCERPT_LENGTH)]
    return f"{'…' if start else ''}{piece}{'…' if start + len(piece) < len(text) else ''}"
