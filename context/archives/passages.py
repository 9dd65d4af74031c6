"""Splitting of long texts into passages at paragraphs and sentences. Pure.

Fast, because it runs while an agent waits; deterministic, because vectors refer to passages by
index.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from kmapp.search import bm25
from kmapp.search.fusion import FULL_LEXICAL_RATIO
from kmapp.search.passages import estimate_tokens
from kmapp.text.terms import terms

PASSAGE_TOKENS = 320  # estimated tokens: the embedding model reads 400, including the template
MAX_CHARACTERS = 1_200  # characters, because the estimate fails for text without words

_BREAK = re.compile(r".*?(?:\n+|[。！？]|[.!?](?=\s)|$)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class TextPassage:
    """The text from `start` to `end`, in characters."""

    start: int
    end: int
    text: str


def split_passages(text: str) -> list[TextPassage]:
    result: list[TextPassage] = []
    start = end = size = 0
    for piece in split_sentences(text):
        more = estimate_tokens(piece)
        if size and (size + more > PASSAGE_TOKENS or end - start + len(piece) > MAX_CHARACTERS):
            result.append(TextPassage(start, end, text[start:end]))
            start, size = end, 0
        end, size = end + len(piece), size + more
    if end > start:
        result.append(TextPassage(start, end, text[start:end]))
    return result


def split_sentences(text: str) -> Iterator[str]:
    """Yield sentences, cut where they are too long."""
    for match in _BREAK.finditer(text):
        sentence = match[0]
        step = MAX_CHARACTERS if estimate_tokens(sentence) <= PASSAGE_TOKENS else PASSAGE_TOKENS
        for index in range(0, len(sentence), step):
            yield sentence[index : index + step]


def score_by_words(passages: Sequence[TextPassage], query: str) -> dict[int, float]:
    """Return the lexical score of each matching passage, from 0 to 1."""
    term_counts = [Counter(terms(passage.text)) for passage in passages]
    average = max(1.0, sum(words.total() for words in term_counts) / max(1, len(term_counts)))
    weights = weigh_terms(query, term_counts)
    maximum = FULL_LEXICAL_RATIO * sum(weights.values())
    scores = (bm25.score(weights, words, words.total(), average) for words in term_counts)
    return {number: min(1.0, score / maximum) for number, score in enumerate(scores) if score}


def weigh_terms(query: str, texts: Sequence[Collection[str]]) -> dict[str, float]:
    """Return the inverse document frequency of each term of a query in these texts."""
    return {
        term: bm25.idf(len(texts), sum(term in text for text in texts)) for term in terms(query)
    }
