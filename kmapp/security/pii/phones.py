"""Recogniser of telephone numbers: distinctive shapes, and any digits after a word such as "call".

Eleven digits that begin with 13 to 19 are a Chinese mobile number unless the word before them is
order, invoice, serial or similar.
"""

import re
from collections.abc import Iterator

from kmapp.text.folding import Span

_SEPARATOR = r"[ \-._/()]{0,3}"
_GAP = r"[ \-.]"
_START = r"(?<![0-9])(?<![0-9][.,])"
_END = r"(?![0-9_]|[.,][0-9]|(?!ext|x ?[0-9])[A-Za-z])"

_MOBILE = re.compile(
    rf"{_START}(?:(?:\+|00|[(]\+?)?86{_SEPARATOR})?(?:"
    rf"(?:[(]1[3-9][0-9][)]|1[3-9][0-9]){_SEPARATOR}[0-9]{{4}}{_SEPARATOR}[0-9]{{4}}"
    rf"|1[3-9][0-9]{_SEPARATOR}[0-9]{{3}}{_SEPARATOR}[0-9]{{5}}"
    rf"|1[3-9][0-9]{{2}}{_GAP}[0-9]{{3}}{_GAP}[0-9]{{4}}"
    rf"|1[3-9][0-9]{{2}}{_GAP}[0-9]{{4}}{_GAP}[0-9]{{3}}"
    rf"|1[3-9][0-9]{{3}}{_GAP}[0-9]{{6}}"
    rf"|1[3-9][0-9](?:{_GAP}[0-9]{{2}}){{4}}"
    rf"|1[ \-][3-9](?:[ \-][0-9]){{9}}"
    rf"){_END}"
)
_INTERNATIONAL = re.compile(
    r"(?<![0-9A-Za-z+])\+[(]?[1-9][0-9]{0,14}+[)]?"
    r"(?:[ \-.()/]{1,3}[0-9]{1,4}+[)]?)?(?:[ \-.()/]{1,3}[0-9]{2,8}+){0,6}+(?![0-9A-Za-z])"
)
_NATIONAL = re.compile(
    rf"{_START}(?:"
    # 010-8888 6666, (0755) 88886666 转 801
    r"[(]?0(?:10|2[0-9]|[3-9][0-9]{2})(?:[)][ \-]{0,2}|[ \-]{1,2})[2-9][0-9]{2,3}[ \-]?[0-9]{4}"
    r"(?:[ ]?(?:-|转|ext\.?|x)[ ]?[0-9]{1,6})?"
    r"|[48]00[ \-][0-9]{3,4}[ \-][0-9]{3,4}"  # 400-820-8820
    r"|(?:1[ \-.])?(?:[(][2-9][0-9]{2}[)][ \-]?|[2-9][0-9]{2}[ \-.])[2-9][0-9]{2}[ \-.][0-9]{4}"
    r"|07[0-9]{3}[ ][0-9]{3}[ ]?[0-9]{3}|0[0-9]{1,3}[ \-][0-9]{4}[ \-][0-9]{4}"  # UK, Japan
    r"|00[1-9][0-9]{0,2}[ \-][0-9]{1,4}(?:[ \-][0-9]{2,4}){1,4}"
    rf"){_END}"
)
_AFTER_PHONE_WORD = re.compile(
    r"(?:电话|手机|座机|固话|热线|传真|联系方式|联系号码|致电|拨打|(?<![a-z])(?:phone|mobile|cell|tel"
    r"|telephone|fax|whatsapp|call(?! id\b)(?: me| us)?(?: at| on)?|dial|text me at)(?![a-z]))"
    r"(?:[^0-9\n\[\]]{0,14}?)([+]?[(]?[0-9](?:[ \-.()]{0,2}[0-9]){6,14})(?![0-9])",
    re.IGNORECASE,
)
_OTHER_WORD_BEFORE = re.compile(
    r"(?:订单|单号|编号|流水|运单|快递|序列|批次|工单|账单|order|invoice|ticket|tracking|serial|sku|ref"
    r"|reference|isbn|batch|build|case|sn|po|inv|txn|transaction|commit|version)"
    r"(?:号码?|id|no|num|number)?[\W_]{0,4}(?:id|no|num|number|号)?[\W_]{0,4}$",
    re.IGNORECASE,
)
_WORD_BEFORE = re.compile(r"[A-Za-z0-9_]+-?$")
_DIGITS_OF_COUNTRY = {"86": 13, "1": 11}  # country codes whose numbers have one length
_MIN_DIGITS, _MAX_DIGITS = 8, 15  # of an international number (E.164)
_PHONE_WORDS = frozenset({"tel", "phone", "mobile", "cell", "call", "fax", "ph", "mob"})
_HEX_LETTERS = frozenset("abcdef")
# UUID, date (and time), IPv4 address and fraction.
_OTHER_NUMBER = re.compile(
    r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"
    r"|(?<![0-9])(?:19|20)[0-9]{2}([-/.])[01]?[0-9]\1[0-3]?[0-9](?![0-9])"
    r"(?:[T ][0-2][0-9]:[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]{1,9})?)?)?"
    r"|(?<![0-9.])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![0-9])"
    r"|(?<![0-9.])[0-9]{1,2}\.[0-9]{5,}+(?![.])"
)


def mask_other_numbers(text: str) -> str:
    """Return the text with dates, UUIDs, IP addresses and fractions overwritten by tildes."""
    return _OTHER_NUMBER.sub(lambda match: "~" * len(match[0]), text)


def has_other_word_before(text: str, start: int) -> bool:
    """Return whether the words before a number name it something other than a phone or card."""
    return bool(_OTHER_WORD_BEFORE.search(text, max(0, start - 24), start))


def find_phones(masked: str) -> Iterator[Span]:
    for pattern in (_MOBILE, _NATIONAL):
        for match in pattern.finditer(masked):
            start = match.start()
            if not has_other_word_before(masked, start) and not _is_inside_code(masked, start):
                yield match.span()
    for match in _INTERNATIONAL.finditer(masked):
        end = _find_international_end(masked, *match.span())
        if end:
            yield match.start(), end
    for match in _AFTER_PHONE_WORD.finditer(masked):
        if not has_other_word_before(masked, match.start(1)):
            yield match.span(1)


def _is_inside_code(text: str, start: int) -> bool:
    """Return whether a number ends a longer code: ab12-138..., img_138..., 3fa138..."""
    before = _WORD_BEFORE.search(text, max(0, start - 24), start)
    if not before:
        return False
    word = before[0].rstrip("-").lower()
    if word in _PHONE_WORDS:
        return False
    return "-" in before[0] or not word.isalpha() or set(word) <= _HEX_LETTERS


def _find_international_end(text: str, start: int, end: int) -> int | None:
    """Return the end by the length of the country's numbers if known, else by 8 to 15 digits."""
    digits = [place for place in range(start, end) if text[place].isdigit()]
    number = "".join(text[place] for place in digits)
    lengths = (length for code, length in _DIGITS_OF_COUNTRY.items() if number.startswith(code))
    length = next(lengths, None)
    if length is not None and len(digits) >= length:
        return digits[length - 1] + 1
    if len(digits) >= _MIN_DIGITS:
        return digits[min(len(digits), _MAX_DIGITS) - 1] + 1
    return None
