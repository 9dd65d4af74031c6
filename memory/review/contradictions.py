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
_DAY_NAMES = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
_MONTH_NAMES = [
    *("january", "february", "march", "april", "may", "june", "july", "august", "september"),
    *("october", "november", "december"),
]
_HAN_DIGITS = {han: digit for digit, han in enumerate("零一二三四五六七八九")} | {"两": 2, "〇": 0}
_HAN_UNITS = {"十": 10, "百": 100, "千": 1000, "万": 10_000}
_HAN_NUMBER_SIGNS = "".join([*_HAN_DIGITS, *_HAN_UNITS])
_HAN_DAYS = "一二三四五六日天"
_COUNTED_SIGNS = "点号日月年天小时分个位人座元块次楼层折度克斤箱盒罐杯份瓶周倍半米"

_VALUE_PATTERN = re.compile(
    r"(?P<figure>\d++(?:[.,:]\d++)*+)"
    rf"|\b(?P<number>{'|'.join(_ENGLISH_NUMBERS)})\b"
    rf"|\b(?P<day>{'|'.join(_DAY_NAMES)})s?\b"
    rf"|\b(?P<month>{'|'.join(month for month in _MONTH_NAMES if month != 'may')})\b"
    rf"|每?(?:周|星期|礼拜)(?P<han_day>[{_HAN_DAYS}])"
    # A match starts at the first sign only, which may follow a day (周三十二点), because attempts
    # at every sign would take long.
    rf"|(?:(?<![{_HAN_NUMBER_SIGNS}])|(?<=[周期拜].))(?P<han>[{_HAN_NUMBER_SIGNS}]++)(?=[{_COUNTED_SIGNS}])",
    re.IGNORECASE,
)
# Letters that IGNORECASE matches with ASCII letters and that `lower` does not convert: "Frıday".
_TO_ASCII = str.maketrans({"ı": "i", "İ": "i", "ſ": "s"})
_NEGATION_PATTERN = re.compile(
    r"\b(?:not|never|no|cannot|without|nor)\b|n['’]t\b"
    r"|不(?!锈钢|同|仅|但|过|断|管|论|止|妨|久|少)|没有?|未(?!来)|无(?!论|线)|勿|切莫|别(?=再|把|让|在|去|用)",
    re.IGNORECASE,
)
_CHANGE_PATTERN = re.compile(
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
_OPPOSITE_PATTERNS = tuple(
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

    def list_pairs(self) -> list[tuple[str, str]]:
        return [*self.values, *self.opposites]


def find_contrast(new: str, old: str) -> Contrast:
    opposites = [*_pair_opposites(new, old)]
    new_negations = len(_NEGATION_PATTERN.findall(new))
    old_negations = len(_NEGATION_PATTERN.findall(old))
    # "Not allowed" and "forbidden" have the same meaning.
    negated = (
        ""
        if new_negations % 2 == old_negations % 2
        else ("new" if new_negations > old_negations else "old")
    )
    if negated and opposites:
        negated, opposites = "", []
    return Contrast(
        values=[*_pair_differing_values(new, old)], negated=negated, opposites=opposites
    )


def announces_change(text: str) -> bool:
    """Return whether a text states that something has changed."""
    return bool(_CHANGE_PATTERN.search(text))


def remove_contrasted_values(text: str) -> str:
    """Return the text without the values that `find_contrast` compares."""
    for pattern in (
        _VALUE_PATTERN,
        _CHANGE_PATTERN,
        _NEGATION_PATTERN,
        *(side for pair in _OPPOSITE_PATTERNS for side in pair),
    ):
        text = pattern.sub(" ", text)
    return text


def _pair_differing_values(new: str, old: str) -> Iterator[tuple[str, str]]:
    """Yield pairs of values of one kind that only the new or only the old text contains."""
    new_values, old_values = _extract_values(new), _extract_values(old)
    for kind in new_values.keys() & old_values.keys():
        only_new = [
            words for value, words in new_values[kind].items() if value not in old_values[kind]
        ]
        only_old = [
            words for value, words in old_values[kind].items() if value not in new_values[kind]
        ]
        yield from zip(only_new, only_old, strict=False)


def _extract_values(text: str) -> Mapping[str, dict[str, str]]:
    """Return the numbers and dates of a text, by kind and value."""
    values: dict[str, dict[str, str]] = {}
    for match in _VALUE_PATTERN.finditer(text):
        pattern_group = str(match.lastgroup)
        counted_sign = text[match.end() : match.end() + 1] if pattern_group == "han" else ""
        words = match[0] + counted_sign
        value = _VALUE_PARSERS[pattern_group](match[pattern_group].translate(_TO_ASCII).lower())
        values.setdefault(_VALUE_KINDS.get(pattern_group, "number"), {}).setdefault(value, words)
    return values


_VALUE_KINDS = {"day": "day", "han_day": "day", "month": "month"}
_VALUE_PARSERS: dict[str, Callable[[str], str]] = {
    "figure": lambda words: words.replace(",", ""),
    "number": lambda words: str(_ENGLISH_NUMBERS.index(words)),
    "day": lambda words: str(_DAY_NAMES.index(words)),
    "month": lambda words: str(_MONTH_NAMES.index(words)),
    "han_day": lambda words: str(min(_HAN_DAYS.index(words), 6)),
    "han": lambda words: str(_parse_han_number(words)),
}


def _parse_han_number(words: str) -> int:
    total, digit = 0, 0
    for char in words:
        if char in _HAN_UNITS:
            total, digit = total + (digit or 1) * _HAN_UNITS[char], 0
        else:
            digit = _HAN_DIGITS[char]
    return total + digit


def _pair_opposites(new: str, old: str) -> Iterator[tuple[str, str]]:
    for one, other in _OPPOSITE_PATTERNS:
        for pattern, opposite in ((one, other), (other, one)):
            new_match, old_match = pattern.search(new), opposite.search(old)
            if new_match and old_match and not opposite.search(new) and not pattern.search(old):
                yield new_match[0], old_match[0]
