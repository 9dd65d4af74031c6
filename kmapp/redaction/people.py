"""Recognisers of what identifies a person: e-mail, bank card, Chinese resident id.

Each takes folded text and yields spans. Shapes come from regular expressions whose repetitions are
bounded or possessive (linear time); checksums and calendars decide.
"""

import re
from collections.abc import Iterator
from datetime import date

Span = tuple[int, int]

# --- e-mail ---------------------------------------------------------------------------------------

_LOCAL = r"A-Za-z0-9._%+'\-\u00c0-\u024f\u0370-\u04ff"
_LABEL = r"[A-Za-z0-9\u00c0-\u024f\u0370-\u04ff-]{1,63}"
_AT = r"(?:@|[ ]?[\[({]\s?(?:at|@)\s?[\])}][ ]?)"
_DOT = r"(?:\.|[ ]?[\[({]\s?(?:dot|\.)\s?[\])}][ ]?)"
_EMAIL = re.compile(
    rf"(?<![{_LOCAL}])(?:[{_LOCAL}]{{1,64}}|\"[^\"\n]{{1,64}}\")"
    rf"{_AT}(?:{_LABEL}{_DOT}){{1,6}}[A-Za-z\u00c0-\u04ff][A-Za-z0-9\u00c0-\u04ff-]{{1,23}}",
    re.IGNORECASE,
)
_EMAIL_IN_HAN = re.compile(  # 张三@例子.公司, or 张三@example.com
    r"(?:(?![给是为到至于])[\u4e00-\u9fff]){1,12}@(?:[A-Za-z0-9-]{1,63}\.){0,5}"
    r"(?:[A-Za-z0-9-]{1,63}\.[A-Za-z]{2,24}|[\u4e00-\u9fff]{1,20}\.(?:公司|中国|网络|com|cn|net))"
)
_EMAIL_SPELLED = re.compile(
    rf"(?<![{_LOCAL}])[A-Za-z0-9._+-]{{2,64}} (?:at|AT) [A-Za-z0-9-]{{2,63}} (?:dot|DOT) "
    r"(?:com|net|org|io|cn|co|edu|gov|dev|ai|de|uk|me)\b"
)
_FILE = re.compile(r"@\d(?:\.\d)?x\.[a-z]{2,5}$", re.IGNORECASE)  # logo@2x.png


def emails(text: str) -> Iterator[Span]:
    for pattern in (_EMAIL, _EMAIL_IN_HAN):
        if "@" in text or pattern is _EMAIL:
            for match in pattern.finditer(text):
                remote = match[0].startswith("git@") and text[match.end() : match.end() + 1] == ":"
                if not remote and not _FILE.search(match[0]):
                    yield match.span()
    for match in _EMAIL_SPELLED.finditer(text):
        yield match.span()


# --- bank card ------------------------------------------------------------------------------------

_NUMBERS = re.compile(r"(?<![0-9])(?<![0-9]\.)[0-9]{3,}+(?:[ ]?[ \-.][ ]?[0-9]{2,}+)*+")
_GROUP = re.compile(r"[0-9]+")
_ISSUERS = re.compile(  # who issues what length; 1, 7 and 8 are no bank's, so clocks stay out
    r"4(?:\d{12}|\d{15}|\d{18})|3[0689]\d{12}|3[47]\d{13}|35\d{14,17}"
    r"|5\d{15,18}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|6\d{15,18}|9\d{18}"
)
_LONGEST_CARD = 19
_FIRST_GROUP = frozenset({4, 6, *range(13, 20)})  # digits before the first gap, or all of them


def cards(text: str) -> Iterator[Span]:
    for run in _NUMBERS.finditer(text):
        groups = [group.span() for group in _GROUP.finditer(text, *run.span())]
        first = 0
        while first < len(groups):
            last = _card_from(text, groups, first)
            if last is not None:
                yield groups[first][0], groups[last][1]
                first = last
            first += 1


def _card_from(text: str, groups: list[Span], first: int) -> int | None:
    """The group where a card that begins with the group `first` ends."""
    digits, found = "", None
    for place in range(first, min(first + 6, len(groups))):
        start, end = groups[place]
        digits += text[start:end][: _LONGEST_CARD + 1]
        if len(digits) > _LONGEST_CARD or (place == first and end - start not in _FIRST_GROUP):
            break
        if _ISSUERS.fullmatch(digits) and luhn(digits):
            found = place
    return found


def luhn(digits: str) -> bool:
    """The check digit of bank cards (ISO/IEC 7812)."""
    doubled = (sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    return (sum(doubled) + sum(int(digit) for digit in digits[-1::-2])) % 10 == 0


# --- Chinese resident id --------------------------------------------------------------------------

_GAP = r"[ \-]{0,2}"
_ID_18 = re.compile(  # looked ahead for: a number that only begins like one must not hide the next
    rf"(?<![0-9])(?=([1-9][0-9]{{5}}{_GAP}(?:19|20)[0-9]{{2}}{_GAP}[0-9]{{2}}{_GAP}[0-9]{{2}}{_GAP}"
    r"[0-9]{3}[0-9Xx]|[1-9][0-9]{3}(?:[ \-][0-9]{4}){3}[ \-][0-9][0-9Xx])(?![0-9]))"
)
_ID_15 = re.compile(
    r"(?:身份证|证件|\bid(?:entity)?(?: ?card)?)(?:号码?|号)?[^0-9\n]{0,10}([1-9][0-9]{14})"
    r"(?![0-9])",
    re.IGNORECASE,
)
_PROVINCES = frozenset(
    str(code)
    for codes in (
        range(11, 16),
        range(21, 24),
        range(31, 38),
        range(41, 47),
        range(50, 55),
        range(61, 66),
        (71, 81, 82, 83, 91),
    )
    for code in codes
)
_YEARS = range(1900, 2100)
_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)


def resident_ids(text: str) -> Iterator[Span]:
    for match in _ID_18.finditer(text):
        if is_resident_id(re.sub(r"[ \-]", "", match[1])):
            yield match.span(1)
    for match in _ID_15.finditer(text):
        if match[1][:2] in _PROVINCES and _is_day("19" + match[1][6:12]):
            yield match.span(1)


def is_resident_id(number: str) -> bool:
    """Province, birthday and the mod 11-2 check character of GB 11643."""
    if number[:2] not in _PROVINCES or not _is_day(number[6:14]):
        return False
    total = sum(weight * int(digit) for weight, digit in zip(_WEIGHTS, number, strict=False))
    return "10X98765432"[total % 11] == number[17].upper()


def _is_day(digits: str) -> bool:
    year, month, day = int(digits[:4]), int(digits[4:6]), int(digits[6:])
    if year not in _YEARS:
        return False
    try:
        date(year, month, day)
    except ValueError:
        return False
    return True
