"""Recognisers of e-mail addresses, bank cards and Chinese resident ids in folded text.

All repetitions are bounded or possessive, so that matching takes linear time. Check digits and the
calendar decide about numbers.
"""

import re
from collections.abc import Iterator
from datetime import date
from itertools import chain

from kmapp.security.pii.phones import has_other_word_before
from kmapp.text.folding import Span

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
_BRACKET = re.compile(r"[\[({]")  # around "at" in place of @
_IMAGE_FILE = re.compile(r"@\d(?:\.\d)?x\.[a-z]{2,5}$", re.IGNORECASE)  # logo@2x.png


def find_emails(text: str) -> Iterator[Span]:
    """Yield e-mail addresses, but neither git remotes nor names of image files."""
    patterns = [_EMAIL] if "@" in text or _BRACKET.search(text) else []
    patterns += [_EMAIL_IN_HAN] if "@" in text else []
    for match in chain.from_iterable(pattern.finditer(text) for pattern in patterns):
        is_git_remote = match[0].startswith("git@") and text.startswith(":", match.end())
        if not is_git_remote and not _IMAGE_FILE.search(match[0]):
            yield match.span()
    if " at " in text or " AT " in text:
        for match in _EMAIL_SPELLED.finditer(text):
            yield match.span()


# --- bank card ------------------------------------------------------------------------------------

_NUMBERS = re.compile(r"(?<![0-9])(?<![0-9]\.)[0-9]{3,}+(?:[ ]?[ \-.][ ]?[0-9]{2,}+)*+")
_GROUP = re.compile(r"[0-9]+")
_ISSUERS = re.compile(  # prefix and length; no bank has 1, 7 or 8, which excludes timestamps
    r"4(?:\d{12}|\d{15}|\d{18})|3[0689]\d{12}|3[47]\d{13}|35\d{14,17}"
    r"|5\d{15,18}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|6\d{15,18}|9\d{18}"
)
_MAX_CARD_LENGTH = 19
_FIRST_GROUP = frozenset({4, 6, *range(13, 20)})  # digits before the first gap, or all of them


def find_cards(text: str, masked: str) -> Iterator[Span]:
    """Yield card numbers in masked text, unless words before them in `text` name something else."""
    for run in _NUMBERS.finditer(masked):
        groups = [group.span() for group in _GROUP.finditer(masked, *run.span())]
        first = 0
        while first < len(groups):
            last = _find_last_group(masked, groups, first)
            if last is not None:
                if not has_other_word_before(text, groups[first][0]):
                    yield groups[first][0], groups[last][1]
                first = last
            first += 1


def _find_last_group(text: str, groups: list[Span], first: int) -> int | None:
    """Return the last group of the longest card number that begins with the group `first`."""
    digits, last = "", None
    for place in range(first, min(first + 6, len(groups))):
        start, end = groups[place]
        digits += text[start:end][: _MAX_CARD_LENGTH + 1]
        if len(digits) > _MAX_CARD_LENGTH or (place == first and end - start not in _FIRST_GROUP):
            break
        if _ISSUERS.fullmatch(digits) and is_luhn_valid(digits):
            last = place
    return last


def is_luhn_valid(digits: str) -> bool:
    """Check the check digit of bank cards (ISO/IEC 7812)."""
    doubled = (sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2])
    return (sum(doubled) + sum(int(digit) for digit in digits[-1::-2])) % 10 == 0


# --- Chinese resident id --------------------------------------------------------------------------

_GAP = r"[ \-]{0,2}"
_ID_18 = re.compile(  # a lookahead, because candidates may overlap
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
    for first, last in ((11, 15), (21, 23), (31, 37), (41, 46), (50, 54), (61, 65), (81, 83))
    for code in range(first, last + 1)
) | {"71", "91"}
_YEARS = range(1900, 2100)
_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)


def find_resident_ids(text: str) -> Iterator[Span]:
    """Yield ids of 18 digits, and of 15 digits after a word such as 身份证."""
    for match in _ID_18.finditer(text):
        if is_resident_id(re.sub(r"[ \-]", "", match[1])):
            yield match.span(1)
    for match in _ID_15.finditer(text):
        if match[1][:2] in _PROVINCES and _is_day("19" + match[1][6:12]):
            yield match.span(1)


def is_resident_id(number: str) -> bool:
    """Check province, birthday and the mod 11-2 check character of GB 11643."""
    if number[:2] not in _PROVINCES or not _is_day(number[6:14]):
        return False
    total = sum(weight * int(digit) for weight, digit in zip(_WEIGHTS, number, strict=False))
    return "10X98765432"[total % 11] == number[17].upper()


def _is_day(digits: str) -> bool:
    try:
        return date(int(digits[:4]), int(digits[4:6]), int(digits[6:])).year in _YEARS
    except ValueError:
        return False
