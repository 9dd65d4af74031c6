"""Recognisers of telephone numbers: a shape alone where it is telling, a word before it elsewhere.

Eleven digits that begin with 13 to 19 are a Chinese mobile unless the word before them says order,
invoice, serial...
"""

import re
from collections.abc import Iterator

from kmapp.redaction.people import Span

_S = r"[ \-._/()]{0,3}"
_G = r"[ \-.]"  # between groups
_FREE = r"(?<![0-9])(?<![0-9][.,])"
_END = r"(?![0-9_]|[.,][0-9]|(?!ext|x ?[0-9])[A-Za-z])"

_MOBILE = re.compile(
    rf"{_FREE}(?:(?:\+|00|[(]\+?)?86{_S})?(?:"
    rf"(?:[(]1[3-9][0-9][)]|1[3-9][0-9]){_S}[0-9]{{4}}{_S}[0-9]{{4}}"
    rf"|1[3-9][0-9]{_S}[0-9]{{3}}{_S}[0-9]{{5}}"
    rf"|1[3-9][0-9]{{2}}{_G}[0-9]{{3}}{_G}[0-9]{{4}}"
    rf"|1[3-9][0-9]{{2}}{_G}[0-9]{{4}}{_G}[0-9]{{3}}"
    rf"|1[3-9][0-9]{{3}}{_G}[0-9]{{6}}"
    rf"|1[3-9][0-9](?:{_G}[0-9]{{2}}){{4}}"
    rf"|1[ \-][3-9](?:[ \-][0-9]){{9}}"
    rf"){_END}"
)
_ABROAD = re.compile(
    r"(?<![0-9A-Za-z+])\+[(]?[1-9][0-9]{0,14}+[)]?"
    r"(?:[ \-.()/]{1,3}[0-9]{1,4}+[)]?)?(?:[ \-.()/]{1,3}[0-9]{2,8}+){0,6}+(?![0-9A-Za-z])"
)
_SHAPES = re.compile(
    rf"{_FREE}(?:"
    # 010-8888 6666, (0755) 88886666 转 801
    r"[(]?0(?:10|2[0-9]|[3-9][0-9]{2})(?:[)][ \-]{0,2}|[ \-]{1,2})[2-9][0-9]{2,3}[ \-]?[0-9]{4}"
    r"(?:[ ]?(?:-|转|ext\.?|x)[ ]?[0-9]{1,6})?"
    r"|[48]00[ \-][0-9]{3,4}[ \-][0-9]{3,4}"  # 400-820-8820
    r"|(?:1[ \-.])?(?:[(][2-9][0-9]{2}[)][ \-]?|[2-9][0-9]{2}[ \-.])[2-9][0-9]{2}[ \-.][0-9]{4}"
    r"|07[0-9]{3}[ ][0-9]{3}[ ]?[0-9]{3}|0[0-9]{1,3}[ \-][0-9]{4}[ \-][0-9]{4}"  # UK, Japan
    r"|00[1-9][0-9]{0,2}[ \-][0-9]{1,4}(?:[ \-][0-9]{2,4}){1,4}"
    rf"){_END}"
)
_ANNOUNCED = re.compile(
    r"(?:电话|手机|座机|固话|热线|传真|联系方式|联系号码|致电|拨打|(?<![a-z])(?:phone|mobile|cell|tel"
    r"|telephone|fax|whatsapp|call(?: me| us)?(?: at| on)?|dial|text me at)(?![a-z]))"
    r"(?:[^0-9\n\[\]]{0,14}?)([+]?[(]?[0-9](?:[ \-.()]{0,2}[0-9]){6,14})(?![0-9])",
    re.IGNORECASE,
)
_NAMED_OTHERWISE = re.compile(
    r"(?:订单|单号|编号|流水|运单|快递|序列|批次|工单|账单|order|invoice|ticket|tracking|serial|sku|ref"
    r"|reference|isbn|batch|build|case|sn|po|inv|txn|transaction|commit|version)"
    r"(?:号码?|id|no|num|number)?[\W_]{0,4}(?:id|no|num|number|号)?[\W_]{0,4}$",
    re.IGNORECASE,
)
_BEFORE = re.compile(r"[A-Za-z0-9_]+-?$")
_LENGTHS = {"86": 13, "1": 11}  # country codes whose numbers have one length
_LEAST, _MOST = 8, 15  # digits of an international number (E.164)
# What looks like a number and says what it is: UUID, date (and time), IPv4 address, fraction.
_KNOWN = re.compile(
    r"\b[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}\b"
    r"|(?<![0-9])(?:19|20)[0-9]{2}([-/.])[01]?[0-9]\1[0-3]?[0-9](?![0-9])"
    r"(?:[T ][0-2][0-9]:[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]{1,9})?)?)?"
    r"|(?<![0-9.])(?:[0-9]{1,3}\.){3}[0-9]{1,3}(?![0-9])"
    r"|(?<![0-9.])[0-9]{1,2}\.[0-9]{5,}+(?![.])"
)


def mask(text: str) -> str:
    """The text with everything that says it is no phone or card painted over."""
    return _KNOWN.sub(lambda match: "~" * len(match[0]), text)


def phones(text: str) -> Iterator[Span]:
    """Phone numbers in masked text."""
    for pattern in (_MOBILE, _SHAPES):
        for match in pattern.finditer(text):
            if not named_otherwise(text, match.start()) and not _glued(text, match.start()):
                yield match.span()
    for match in _ABROAD.finditer(text):
        end = _end_of_number(text, *match.span())
        if end:
            yield match.start(), end
    for match in _ANNOUNCED.finditer(text):
        if not named_otherwise(text, match.start(1)):
            yield match.span(1)


def named_otherwise(text: str, start: int) -> bool:
    """Whether the words before a number say that it is something else."""
    return bool(_NAMED_OTHERWISE.search(text, max(0, start - 24), start))


def _glued(text: str, start: int) -> bool:
    """Whether a number is the tail of a longer code: ab12-138..., img_138..., 3fa138..."""
    before = _BEFORE.search(text, max(0, start - 24), start)
    if not before:
        return False
    word = before[0].rstrip("-").lower()
    if word in ("tel", "phone", "mobile", "cell", "call", "fax", "ph", "mob"):
        return False
    return "-" in before[0] or not word.isalpha() or set(word) <= set("abcdef")


def _end_of_number(text: str, start: int, end: int) -> int | None:
    """Where an international number ends: a country's length if we know it, else 8 to 15 digits."""
    digits = [place for place in range(start, end) if text[place].isdigit()]
    number = "".join(text[place] for place in digits)
    wanted = next((n for code, n in _LENGTHS.items() if number.startswith(code)), None)
    if wanted is not None and len(digits) >= wanted:
        return digits[wanted - 1] + 1
    return digits[min(len(digits), _MOST) - 1] + 1 if len(digits) >= _LEAST else None
