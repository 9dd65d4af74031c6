"""Decoding of the simple encodings in which instructions hide. Pure.

Each decoder looks for a mark of its encoding first, which ordinary text seldom has. What it yields
means nothing by itself: the detector looks for instructions in it. Expressions run only if cheaper
checks leave a match possible.
"""

import base64
import codecs
import html
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from string import ascii_lowercase
from urllib.parse import unquote

_MAX_LENGTH = 4096  # characters that are decoded at once
_MIN_REFERENCES = 6  # characters written as HTML references: about one word
_MIN_WORDS_WITH_DIGITS = 3  # more than a name has
_ESCAPES = re.compile(r"(?:\\u[0-9a-f]{4}|\\x[0-9a-f]{2}){8,}", re.IGNORECASE)
_ESCAPE = re.compile(r"\\u([0-9a-f]{4})|\\x([0-9a-f]{2})", re.IGNORECASE)
_BINARY = re.compile(r"(?:[01]{8}[ ]?){12,}")
_HEX = re.compile(r"\b(?:[0-9a-fA-F]{2}[ :]?){16,}")
_BASE32 = re.compile(r"\b[A-Z2-7]{32,}={0,6}")
_ASCII85 = re.compile(r"<~([!-u\s]{20,}?)~>")
_BASE85 = re.compile(r"[!-~]{40,}")
_MORSE = re.compile(r"(?:[.-]{1,6}[ /]{1,3}){15,}[.-]{0,6}")
SPACED = re.compile(r"(?:(?<![^\W_])[^\W_][ .·*_-]){4,}[^\W_](?![^\W_])")
_SEPARATORS = re.compile(r"[ .·*_-]")
TWO_SPACED = re.compile(r"[ .·*_-][^\W_][ .·*_-][^\W_][ .·*_-]")  # part of each match of SPACED
_DIGIT_FOR_LETTER = re.compile(r"[0134578@$]")
_DIGITS_IN_WORDS = re.compile(r"[a-z][0134578@$]+[a-z]", re.IGNORECASE)
_LETTERS_FOR_DIGITS = str.maketrans("0134578@$", "oieastbas")
_ROT13 = ("vtaber", "cerivbhf", "vafgehpgvba", "qvfertneq", "erirny", "flfgrz cebzcg")
_REVERSED = ("erongi", "suoiverp", "snoitcurtsni", "dragersid", "tpmorp metsys", "令指", "示提统系")
_MORSE_CODES = """
.- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. --
-. --- .--. --.- .-. ... - ..- ...- .-- -..- -.-- --..
"""
_MORSE_LETTERS = dict(zip(_MORSE_CODES.split(), ascii_lowercase, strict=True))
_Utf8Decoder = codecs.getincrementaldecoder("utf-8")


@dataclass(frozen=True, slots=True)
class _Decoder:
    """Every match has at least `least` of the characters `marks`; without marks, as one word."""

    expression: re.Pattern[str]
    decode: Callable[[str], str]
    least: int
    marks: str = ""

    def is_possible(self, text: str, longest_word: int) -> bool:
        count = sum(map(text.count, self.marks)) if self.marks else longest_word
        return count >= self.least


def compute_longest_word(text: str) -> int:
    """Return the number of characters of the longest run without white space."""
    return max(map(len, text.split()), default=0)


def decode_texts(text: str) -> Iterator[str]:
    """Yield the decoded forms of a text and of its encoded parts."""
    yield from _decode_whole(text[:_MAX_LENGTH])
    longest_word = compute_longest_word(text)
    for decoder in DECODERS:
        if decoder.is_possible(text, longest_word):
            for match in decoder.expression.finditer(text):
                yield decoder.decode(match[0][:_MAX_LENGTH])


def _decode_whole(text: str) -> Iterator[str]:
    lower = text.lower()
    if text.count("%") > text.count(" ") // 2 + 2:
        yield unquote(text)
    if text.count("&#") >= _MIN_REFERENCES:
        yield html.unescape(text)
    if any(word in lower for word in _ROT13):
        yield codecs.decode(text, "rot13")
    if any(word in lower for word in _REVERSED):
        yield text[::-1]
    if (
        _DIGIT_FOR_LETTER.search(text)
        and len(_DIGITS_IN_WORDS.findall(text)) >= _MIN_WORDS_WITH_DIGITS
    ):
        yield text.translate(_LETTERS_FOR_DIGITS)
    if TWO_SPACED.search(text) and SPACED.search(text):
        yield SPACED.sub(lambda match: _SEPARATORS.sub("", match[0]), text)


def _decode_bytes(decode: Callable[[str], bytes]) -> Callable[[str], str]:
    """Return a decoder of a code whose end may be missing, even inside a character."""

    def decode_text(code: str) -> str:
        try:
            return _Utf8Decoder().decode(decode(code))
        except ValueError:  # not this encoding after all
            return ""

    return decode_text


def _unescape(code: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1] or match[2], 16)), code)


def _decode_bits(code: str) -> bytes:
    return bytes(int(byte, 2) for byte in re.findall("[01]{8}", code))


def _decode_hex(code: str) -> bytes:
    digits = code.replace(":", "").replace(" ", "")
    return bytes.fromhex(digits[: len(digits) // 2 * 2])


def _decode_base32(code: str) -> bytes:
    letters = code.rstrip("=")
    return base64.b32decode(letters[: len(letters) // 8 * 8])


def _decode_ascii85(code: str) -> bytes:
    return base64.a85decode(code.removeprefix("<~").partition("~")[0])


def _decode_morse(code: str) -> str:
    words = code.replace("/", " / ").split()
    return "".join(" " if word == "/" else _MORSE_LETTERS.get(word, "") for word in words)


DECODERS = (
    _Decoder(_ESCAPES, _unescape, least=8, marks="\\"),
    _Decoder(_BINARY, _decode_bytes(_decode_bits), least=96, marks="01"),
    _Decoder(_HEX, _decode_bytes(_decode_hex), least=2),
    _Decoder(_BASE32, _decode_bytes(_decode_base32), least=32),
    _Decoder(_ASCII85, _decode_bytes(_decode_ascii85), least=3, marks="<~"),
    _Decoder(_BASE85, _decode_bytes(base64.b85decode), least=40),
    _Decoder(_MORSE, _decode_morse, least=15, marks=".-"),
)
