"""Replacement of personal data and credentials by placeholders, in text and JSON."""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from kmapp.security.pii.credentials import find_credentials
from kmapp.security.pii.ibans import find_ibans
from kmapp.security.pii.identifiers import find_cards, find_emails, find_resident_ids
from kmapp.security.pii.phones import find_phones, mask_other_numbers
from kmapp.text.folding import Span, fold

KINDS = ("email", "phone", "card", "id", "secret")
_NUMERIC = frozenset({"id", "card", "phone"})
_MIN_TEXT_LENGTH = 6  # characters; shorter texts contain no personal data
_MIN_NUMBER = 10**6  # of a JSON number that may be a phone or card
_MAX_KEY_LENGTH = 100  # characters of a JSON key that counts as words before its value
_WORD_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|_")  # in camelCase and snake_case
_SEVEN_DIGITS = re.compile(r"[0-9](?:[^0-9]{0,3}[0-9]){6}")


@dataclass(frozen=True, slots=True)
class PiiMatch:
    """Personal data or a credential at [start, end) of the original text."""

    kind: str
    start: int
    end: int


def find_pii(text: str, kinds: Collection[str] = KINDS) -> list[PiiMatch]:
    if len(text) < _MIN_TEXT_LENGTH:
        return []
    folded = fold(text)
    plain = masked = folded.text
    has_numbers = bool(_SEVEN_DIGITS.search(plain))
    if has_numbers and not _NUMERIC.isdisjoint(kinds):
        masked = mask_other_numbers(plain)
    # In order of precedence: where two overlap, the first one names both.
    empty: Iterator[Span] = iter(())
    recognisers: dict[str, Iterator[Span]] = {
        "secret": find_credentials(plain),
        "email": find_emails(plain),
        "id": find_resident_ids(plain) if has_numbers else empty,
        "card": chain(find_cards(plain, masked) if has_numbers else empty, find_ibans(plain)),
        "phone": find_phones(masked) if has_numbers else empty,
    }
    spans = [
        (start, end, rank, kind)
        for rank, (kind, matches) in enumerate(recognisers.items())
        if kind in kinds
        for start, end in matches
    ]
    return [
        PiiMatch(kind, *folded.original(start, end)) for kind, start, end in _merge_spans(spans)
    ]


def redact(text: str, kinds: Collection[str] = KINDS) -> tuple[str, list[PiiMatch]]:
    """Return the text with placeholders, and the findings of the original text.

    Repeats until nothing is found, because a match may appear only after its neighbour is replaced.
    """
    findings = remaining = find_pii(text, kinds)
    redacted = _replace_findings(text, findings)
    while remaining:
        remaining = find_pii(redacted, kinds)
        redacted = _replace_findings(redacted, remaining)
    return redacted, findings


def redact_json(value: Any, kinds: Collection[str] = KINDS) -> tuple[Any, list[PiiMatch]]:
    """Return a JSON value with placeholders in texts, keys and numbers, and the findings.

    A key counts as the word before its value: {"password": "tulip7"} contains a credential.
    Offsets are relative to each text.
    """
    findings: list[PiiMatch] = []
    return _redact_value(value, "", kinds, findings), findings


def _redact_value(value: Any, key: str, kinds: Collection[str], findings: list[PiiMatch]) -> Any:
    if isinstance(value, str):
        return _redact_after_key(key, value, kinds, findings)
    if isinstance(value, dict):
        return _redact_dict(value, kinds, findings)
    if isinstance(value, list | tuple):
        return [_redact_value(item, key, kinds, findings) for item in value]
    if isinstance(value, int | float) and abs(value) >= _MIN_NUMBER and value % 1 == 0:
        text = str(int(value))
        redacted = _redact_after_key(key, text, kinds, findings)
        return value if redacted == text else redacted
    return value


def _redact_dict(
    value: dict[str, Any], kinds: Collection[str], findings: list[PiiMatch]
) -> dict[str, Any]:
    result: dict[str, Any] = {}
    numbers: Counter[str] = Counter()
    for key, item in value.items():
        name = base = _redact_after_key("", key, kinds, findings)
        while name in result or (name != key and name in value):  # keys must stay distinct
            numbers[base] += 1
            name = f"{base} {numbers[base] + 1}"
        result[name] = _redact_value(item, key, kinds, findings)
    return result


def _redact_after_key(key: str, text: str, kinds: Collection[str], findings: list[PiiMatch]) -> str:
    """Redact a text as if "key: " preceded it. Repeats until nothing is found, as `redact`."""
    prefix = f"{_WORD_BOUNDARY.sub(' ', key)}: " if 0 < len(key) <= _MAX_KEY_LENGTH else ""
    matches = _find_after_prefix(prefix, text, kinds)
    own = [PiiMatch(each.kind, max(0, each.start), each.end) for each in matches]
    findings.extend(own)
    redacted = _replace_findings(text, own)
    while redacted != text:
        text = redacted
        # A match that begins in the prefix would match a part of its own placeholder again, without
        # end.
        inside = [each for each in _find_after_prefix(prefix, text, kinds) if each.start >= 0]
        redacted = _replace_findings(text, inside)
    return text


def _find_after_prefix(prefix: str, text: str, kinds: Collection[str]) -> list[PiiMatch]:
    """Return the matches that end in the text; those that begin in the prefix start below 0."""
    return [
        PiiMatch(match.kind, match.start - len(prefix), match.end - len(prefix))
        for match in find_pii(prefix + text, kinds)
        if match.end > len(prefix)
    ]


def _replace_findings(text: str, findings: Iterable[PiiMatch]) -> str:
    pieces, place = [], 0
    for finding in findings:
        pieces += [text[place : finding.start], f"[{finding.kind}]"]
        place = finding.end
    return "".join([*pieces, text[place:]])


def _merge_spans(spans: list[tuple[int, int, int, str]]) -> Iterator[tuple[str, int, int]]:
    """Yield overlapping spans as one, with the kind of the lowest rank."""
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
        rank, kind = min((rank, kind), (next_rank, next_kind))
    yield kind, start, end
