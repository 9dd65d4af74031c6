"""Contradictions between similar texts: numbers, dates, negation, opposites. Pure.

Heuristics for English and Chinese. Reviewers see the results as quotations; they decide nothing.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

_ENGLISH_NUMBERS = [
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen"),
    *("nineteen", "twenty"),
]
_DAYS = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_MONTHS = [
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
]
_HAN_DIGITS = {han: digit for digit, han in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_HAN_UNITS = {"十": 10, "百": 100, "千": 1000, "万": 10_000}
_HAN = "".join([*_HAN_DIGITS, *_HAN_UNITS])
_HAN_DAYS = "一二三四五六日天"
_COUNTED = "点号日月年天小时分个位人座元块次楼层折度克斤箱盒罐杯份瓶周倍半米"

_VALUE = re.compile(
    r"(?P<figure>\d++(?:[.,:]\d++)*+)"
    rf"|\b(?P<number>{'|'.join(_ENGLISH_NUMBERS)})\b"
    rf"|\b(?P<day>{'|'.join(_DAYS)})s?\b"
    rf"|\b(?P<month>{'|'.join(month for month in _MONTHS if month != 'may')})\b"
    rf"|每?(?:周|星期|礼拜)(?P<han_day>[{_HAN_DAYS}])"
    # From its first sign only, which may follow a day: 周三十二点. From each would take long.
    rf"|(?:(?<![{_HAN}])|(?<=[周期拜].))(?P<han>[{_HAN}]++)(?=[{_COUNTED}])",
    re.IGNORECASE,
)
_NOT = re.compile(
    r"\b(?:not|never|no|cannot|without|nor)\b|n['’]t\b"
    r"|不(?!锈钢|同|仅|但|过|断|管|论|止|妨|久|少)|没有?|未(?!来)|无(?!论|线)|勿|切莫|别(?=再|把|让|在|去|用)",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"\b(?:now|no longer|instead|since|from now on|as of|changed|moved|replaced|anymore)\b"
    r"|现在|如今|改为|改成|改到|改在|不再|调整为|更新为|换成|起(?=[，。,]|$)",
    re.IGNORECASE,
)
_OPPOSITES = (
    ("allowed|allow|allows|permitted|may", "forbidden|forbid|forbids|prohibited|banned"),
    ("always", "never"),
    ("open|opens|opened", "closed|close|closes"),
    ("likes?|loves?|enjoys?", "dislikes?|hates?"),
    ("before", "after"),
    ("more", "less"),
    ("minimum|least", "maximum|most"),
    ("enabled?|on", "disabled?|off"),
    ("accepts?|accepted", "refuses?|refused|rejects?|rejected"),
    ("required|mandatory|must", "optional"),
    ("允许|准许|可以", "禁止|不准|严禁|不得"),
    ("喜欢|爱", "讨厌|厌恶"),
    ("营业|开门|开放", "停业|休息|关闭"),
    ("之前|以前", "之后|以后"),
    ("必须", "可选|无需"),
    ("启用|开启", "停用|禁用"),
    ("最多", "最少|至少"),
)
_SIDES = tuple(
    tuple(
        re.compile(rf"\b(?:{side})\b" if side.isascii() else f"(?:{side})", re.IGNORECASE)
        for side in pair
    )
    for pair in _OPPOSITES
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """Contradictions between two texts, each as (new, old) words from the texts."""

    values: Sequence[tuple[str, str]] = ()
    negated: str = ""  # "new" or "old": only one of them is negated
    opposites: Sequence[tuple[str, str]] = ()

    def __bool__(self) -> bool:
        return bool(self.values or self.negated or self.opposites)

    def pairs(self) -> list[tuple[str, str]]:
        return [*self.values, *self.opposites]


def contrast(new: str, old: str) -> Contrast:
    opposites = [*_opposed(new, old)]
    more, less = len(_NOT.findall(new)), len(_NOT.findall(old))
    # "Not allowed" and "forbidden" have the same meaning.
    negated = "" if more % 2 == less % 2 else ("new" if more > less else "old")
    if negated and opposites:
        negated, opposites = "", []
    return Contrast(values=[*_differing(new, old)], negated=negated, opposites=opposites)


def announces_change(text: str) -> bool:
    """Return whether a text states that something has changed."""
    return bool(_CHANGE.search(text))


def subject_of(text: str) -> str:
    """Return the text without the values that `contrast` compares."""
    for pattern in (_VALUE, _CHANGE, _NOT, *(side for pair in _SIDES for side in pair)):
        text = pattern.sub(" ", text)
    return text


def _differing(new: str, old: str) -> Iterator[tuple[str, str]]:
    """Yield pairs of values of one kind that only the new or only the old text contains."""
    here, there = _values(new), _values(old)
    for sort in here.keys() & there.keys():
        mine = [words for value, words in here[sort].items() if value not in there[sort]]
        theirs = [words for value, words in there[sort].items() if value not in here[sort]]
        yield from zip(mine, theirs, strict=False)


def _values(text: str) -> Mapping[str, dict[str, str]]:
    """Return the numbers and dates of a text, by kind and value."""
    differences: dict[str, dict[str, str]] = {}
    for match in _VALUE.finditer(text):
        sort = str(match.lastgroup)
        counted = text[match.end() : match.end() + 1] if sort == "han" else ""
        words = match[0] + counted
        value = _READERS[sort](match[sort].lower())
        differences.setdefault(_SORTS.get(sort, "number"), {}).setdefault(value, words)
    return differences


_SORTS = {"day": "day", "han_day": "day", "month": "month"}
_READERS: dict[str, Callable[[str], str]] = {
    "figure": lambda words: words.replace(",", ""),
    "number": lambda words: str(_ENGLISH_NUMBERS.index(words)),
    "day": lambda words: str(_DAYS.index(words)),
    "month": lambda words: str(_MONTHS.index(words)),
    "han_day": lambda words: str(min(_HAN_DAYS.index(words), 6)),
    "han": lambda words: str(_han_number(words)),
}


def _han_number(words: str) -> int:
    total, digit = 0, 0
    for char in words:
        if char in _HAN_UNITS:
            total, digit = total + (digit or 1) * _HAN_UNITS[char], 0
        else:
            digit = _HAN_DIGITS[char]
    return total + digit


def _opposed(new: str, old: str) -> Iterator[tuple[str, str]]:
    for one, other in _SIDES:
        for here, there in ((one, other), (other, one)):
            mine, theirs = here.search(new), there.search(old)
            if mine and theirs and not there.search(new) and not here.search(old):
                yield mine[0], theirs[0]
