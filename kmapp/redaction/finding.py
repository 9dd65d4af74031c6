"""Finding and replacing."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from kmapp.redaction.credentials import secrets
from kmapp.redaction.folding import fold
from kmapp.redaction.people import Span, cards, emails, resident_ids
from kmapp.redaction.phones import mask, named_otherwise, phones

SHORTEST = 6  # nothing shorter is worth a look
SMALLEST_NUMBER = 10**6
LONGEST_KEY = 100  # that counts as words before its value
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_")


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that should not be kept, at [start, end) of the original text."""

    kind: str
    start: int
    end: int


def _cards(text: str) -> Iterator[Span]:
    return (span for span in cards(mask(text)) if not named_otherwise(text, span[0]))


def _phones(text: str) -> Iterator[Span]:
    return phones(mask(text))


# In order of precedence: where two overlap, the first one names the whole.
_RECOGNISERS: dict[str, Callable[[str], Iterator[Span]]] = {
    "secret": secrets,
    "email": emails,
    "id": resident_ids,
    "card": _cards,
    "phone": _phones,
}
_NUMERIC = frozenset({"id", "card", "phone"})
_SEVEN_DIGITS = re.compile(r"[0-9](?:[^0-9]{0,3}[0-9]){6}")
KINDS = ("email", "phone", "card", "id", "secret")


def find(text: str, kinds: Collection[str] = KINDS) -> list[Finding]:
    """What is in the text, in order, without overlaps."""
    if len(text) < SHORTEST:
        return []
    folded = fold(text)
    if not _SEVEN_DIGITS.search(folded.text):
        kinds = set(kinds) - _NUMERIC
    spans = [
        (start, end, rank, kind)
        for rank, (kind, recogniser) in enumerate(_RECOGNISERS.items())
        if kind in kinds
        for start, end in recogniser(folded.text)
    ]
    return [Finding(kind, *folded.original(start, end)) for kind, start, end in _merged(spans)]


def redact(text: str, kinds: Collection[str] = KINDS) -> tuple[str, list[Finding]]:
    """The text with placeholders, and what they stand for.

    What stood beside a finding may be found only without it, so it is looked at until nothing is.
    """
    findings = find(text, kinds)
    redacted, left = _replaced(text, findings), findings
    while left:
        left = find(redacted, kinds)
        redacted = _replaced(redacted, left)
    return redacted, findings


def redact_json(value: Any, kinds: Collection[str] = KINDS) -> tuple[Any, list[Finding]]:
    """The same through all texts of a JSON value: keys too, and numbers that are phones or cards.

    A key counts as the word before its value: {"password": "tulip7"} has a secret. Offsets are
    those inside each text.
    """
    findings: list[Finding] = []
    return _walk(value, "", kinds, findings), findings


def _walk(value: Any, key: str, kinds: Collection[str], findings: list[Finding]) -> Any:
    if isinstance(value, str):
        return _after(key, value, kinds, findings)
    if isinstance(value, dict):
        return _dict(value, kinds, findings)
    if isinstance(value, list | tuple):
        return [_walk(item, key, kinds, findings) for item in value]
    if isinstance(value, int) and abs(value) >= SMALLEST_NUMBER:
        text = str(value)
        redacted = _after(key, text, kinds, findings)
        return value if redacted == text else redacted
    return value


def _dict(value: dict[str, Any], kinds: Collection[str], findings: list[Finding]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    numbers: Counter[str] = Counter()
    for key, item in value.items():
        name = base = _after("", key, kinds, findings)
        while name in result or (name != key and name in value):  # two addresses are two keys
            numbers[base] += 1
            name = f"{base} {numbers[base] + 1}"
        result[name] = _walk(item, key, kinds, findings)
    return result


def _after(key: str, text: str, kinds: Collection[str], findings: list[Finding]) -> str:
    """The text redacted as if "key: " stood before it."""
    words = f"{_CAMEL.sub(' ', key)}: " if 0 < len(key) <= LONGEST_KEY else ""
    here = [
        Finding(found.kind, max(0, found.start - len(words)), found.end - len(words))
        for found in find(words + text, kinds)
        if found.end > len(words)
    ]
    findings.extend(here)
    return _replaced(text, here)


def _replaced(text: str, findings: Iterable[Finding]) -> str:
    pieces, place = [], 0
    for found in findings:
        pieces += [text[place : found.start], f"[{found.kind}]"]
        place = found.end
    return "".join([*pieces, text[place:]])


def _merged(spans: list[tuple[int, int, int, str]]) -> Iterator[tuple[str, int, int]]:
    """Overlapping spans as one, named by the one that takes precedence."""
    if not spans:
        return
    spans.sort()
    start, end, rank, kind = spans[0]
    for next_start, next_end, next_rank, next_kind in spans[1:]:
        if next_start >= end:
            yield kind, start, end
            start, end, rank, kind = next_start, next_end, next_rank, next_kind
            continue
        end = max(end, next_end)
        if next_rank < rank:
            rank, kind = next_rank, next_kind
    yield kind, start, end
