"""Matches of a query in a text, and the passage around them. Pure."""

import re
from collections.abc import Collection, Sequence

from kmapp.text.terms import chinese_share, extract_terms

Span = tuple[int, int]
Piece = tuple[str, bool]  # a part of a text, and whether it matches
MAX_SCANNED_LENGTH = 20_000  # characters in which matches are looked for
PASSAGE_LENGTH = 220  # characters of a passage
_LEAD = 60  # characters before the first match
_WORD = re.compile(r"[^\W_]+(?:[-'’.@/+:][^\W_]+)*")
_PREFIX = 3  # characters; a word is stemmed only if a term begins like it


def find_matches(text: str, query_terms: Collection[str], phrases: Collection[str]) -> list[Span]:
    """Return the places of the terms and phrases, in order and without overlaps."""
    text = text[:MAX_SCANNED_LENGTH]
    places = [
        match.span()
        for phrase in phrases
        if phrase
        for match in re.finditer(re.escape(phrase), text, re.IGNORECASE)
    ]
    places += _find_words(text, {term for term in query_terms if not chinese_share(term)})
    for term in query_terms:
        if chinese_share(term):
            places += [match.span() for match in re.finditer(re.escape(term), text)]
    return _merge_spans(sorted(places))


def split_at_matches(text: str, spans: Sequence[Span]) -> list[Piece]:
    """Return the text in pieces, with the spans as matches."""
    pieces, at = [], 0
    for start, end in spans:
        pieces += [(text[at:start], False), (text[start:end], True)]
        at = end
    pieces.append((text[at:], False))
    return [piece for piece in pieces if piece[0]]


def extract_passage(
    text: str,
    query_terms: Collection[str],
    phrases: Collection[str],
    *,
    length: int = PASSAGE_LENGTH,
) -> list[Piece]:
    """Return the passage around the first match, or the beginning of the text."""
    spans = find_matches(text, query_terms, phrases)
    first = spans[0][0] if spans else 0
    start = max(0, first - _LEAD) if first > length - _LEAD else 0
    end = start + length
    inside = [(a - start, min(b, end) - start) for a, b in spans if start <= a < end]
    cut = [("…", False)] if start else []
    rest = [("…", False)] if end < len(text) else []
    return [*cut, *split_at_matches(text[start:end], inside), *rest]


def _find_words(text: str, query_terms: set[str]) -> list[Span]:
    if not query_terms:
        return []
    beginnings = {term[:_PREFIX] for term in query_terms}
    return [
        match.span()
        for match in _WORD.finditer(text)
        if match[0].casefold()[:_PREFIX] in beginnings
        and not query_terms.isdisjoint(extract_terms(match[0]))
    ]


def _merge_spans(places: Sequence[Span]) -> list[Span]:
    spans: list[Span] = []
    for start, end in places:
        if spans and start <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((start, end))
    return spans
