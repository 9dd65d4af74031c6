"""Passages of a long text: cut at paragraphs and sentences, each with its place. Pure.

Fast, for it runs while an agent waits; and always the same, for vectors are numbered by it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from kmapp.search import bm25
from kmapp.search.fusion import COVERED
from kmapp.search.passages import token_estimate
from kmapp.text.terms import terms

SIZE = 320  # tokens, as estimated: an embedding model reads 400 with what stands around them
WIDEST = 1_200  # characters; beyond it the estimate cannot be right

_BREAK = re.compile(r".*?(?:\n+|[。！？]|[.!?](?=\s)|$)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Passage:
    """Text from `start` up to `end`."""

    start: int
    end: int
    text: str


def passages(text: str) -> list[Passage]:
    """The text in passages, in order and without gaps."""
    found: list[Passage] = []
    start = end = size = 0
    for piece in _pieces(text):
        more = token_estimate(piece)
        if size and (size + more > SIZE or end - start + len(piece) > WIDEST):
            found.append(Passage(start, end, text[start:end]))
            start, size = end, 0
        end, size = end + len(piece), size + more
    if end > start:
        found.append(Passage(start, end, text[start:end]))
    return found


def _pieces(text: str) -> Iterator[str]:
    """Sentences; what has no end is cut where it gets too long."""
    for found in _BREAK.finditer(text):
        post_text = found[0]
        step = WIDEST if token_estimate(post_text) <= SIZE else SIZE
        for at in range(0, len(post_text), step):
            yield post_text[at : at + step]


def by_words(found: Sequence[Passage], query: str) -> dict[int, float]:
    """How well each passage answers by its words, from 0 to 1; those without any are left out."""
    cut = [Counter(terms(passage.text)) for passage in found]
    average = max(1.0, sum(words.total() for words in cut) / max(1, len(cut)))
    weights = {
        word: bm25.idf(len(cut), sum(word in words for words in cut)) for word in terms(query)
    }
    whole = COVERED * sum(weights.values())
    scores = (bm25.score(weights, words, words.total(), average) for words in cut)
    return {number: min(1.0, score / whole) for number, score in enumerate(scores) if score}


def chosen(
    found: Sequence[Passage],
    scores: Mapping[int, float],
    tokens: Mapping[int, int],
    most: int,
) -> list[int]:
    """The best passages that fit, in the order of the text."""
    left, kept = most, []
    for number in sorted(scores, key=lambda at: (-scores[at], at)):
        if tokens[number] <= left:
            kept.append(number)
            left -= tokens[number]
    return sorted(kept)
