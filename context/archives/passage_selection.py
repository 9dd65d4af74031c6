"""Selection of the passages of a tool result that answer a query, within a token budget. Pure.

If a passage takes a large share of the budget, it is first reduced to the sentences around its best
one, so that a small budget holds several passages. Then the best ones are extended to whole
passages as far as the budget allows.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from context.archives.passage_splitting import TextPassage, split_sentences
from kmapp.search import bm25
from kmapp.search.candidate_signals import FULL_LEXICAL_RATIO
from kmapp.text.terms import extract_terms

MAX_SHARE = 0.25  # of the budget, for one reduced passage
SEPARATOR_TOKENS = 2  # before each passage

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class ScoredPassage:
    passage: TextPassage
    score: float
    tokens: int  # with the separator before it


def select_passages(
    passages: Sequence[TextPassage],
    scores: Mapping[int, float],
    query: str,
    *,
    max_tokens: int,
    count: Count,
) -> list[ScoredPassage]:
    """Return the best passages that fit, in the order of the text. `scores` are by index."""
    best_first = sorted(scores, key=lambda index: (-scores[index], index))
    wholes = [_measure(passages[index], scores[index], count) for index in best_first]
    limit = int(MAX_SHARE * max_tokens)
    weights: Mapping[str, float] = {}
    if any(whole.tokens > limit for whole in wholes):
        weights = weigh_terms(
            query, [frozenset(extract_terms(passage.text)) for passage in passages]
        )
    selected: list[tuple[ScoredPassage, ScoredPassage]] = []
    used = 0
    for whole in wholes:
        reduced = whole
        if whole.tokens > limit:
            best = find_best_sentences(whole.passage, weights, limit - SEPARATOR_TOKENS, count)
            reduced = _measure(best, whole.score, count)
        if used + reduced.tokens <= max_tokens:
            selected.append((reduced, whole))
            used += reduced.tokens
    chosen: list[ScoredPassage] = []
    for reduced, whole in selected:
        fits = used + whole.tokens - reduced.tokens <= max_tokens
        used += whole.tokens - reduced.tokens if fits else 0
        chosen.append(whole if fits else reduced)
    return sorted(chosen, key=lambda each: each.passage.start)


def _measure(passage: TextPassage, score: float, count: Count) -> ScoredPassage:
    return ScoredPassage(passage, score, count(passage.text) + SEPARATOR_TOKENS)


def find_best_sentences(
    passage: TextPassage, weights: Mapping[str, float], limit: int, count: Count
) -> TextPassage:
    """Return the best sentence of a passage with as many neighbours as fit into `limit` tokens.

    Sentences after it are added before those that precede it. `weights` are those of the query's
    terms. The best sentence is returned even if it is longer.
    """
    sentences = _sentences(passage)
    worth = [
        sum(weights.get(term, 0.0) for term in {*extract_terms(each.text)}) for each in sentences
    ]
    best = worth.index(max(worth))

    def is_too_long(start: int, end: int) -> bool:
        return count(_join(sentences[start : end + 1]).text) > limit

    # Bisected, because a text may have thousands of sentences.
    after, before = range(best + 1, len(sentences)), range(best - 1, -1, -1)
    last = best + bisect_left(after, x=True, key=lambda end: is_too_long(best, end))
    first = best - bisect_left(before, x=True, key=lambda start: is_too_long(start, last))
    return _join(sentences[first : last + 1])


def _sentences(passage: TextPassage) -> list[TextPassage]:
    sentences, start = [], passage.start
    for text in split_sentences(passage.text):
        sentences.append(TextPassage(start, start + len(text), text))
        start += len(text)
    return sentences


def _join(sentences: Sequence[TextPassage]) -> TextPassage:
    text = "".join(each.text for each in sentences)
    return TextPassage(sentences[0].start, sentences[-1].end, text)


def score_by_words(passages: Sequence[TextPassage], query: str) -> dict[int, float]:
    """Return the lexical score of each matching passage, from 0 to 1."""
    term_counts = [Counter(extract_terms(passage.text)) for passage in passages]
    average = max(1.0, sum(words.total() for words in term_counts) / max(1, len(term_counts)))
    weights = weigh_terms(query, term_counts)
    maximum = FULL_LEXICAL_RATIO * sum(weights.values())
    scores = (bm25.score(weights, words, words.total(), average) for words in term_counts)
    return {number: min(1.0, score / maximum) for number, score in enumerate(scores) if score}


def weigh_terms(query: str, texts: Sequence[Collection[str]]) -> dict[str, float]:
    """Return the inverse document frequency of each term of a query in these texts."""
    return {
        term: bm25.idf(len(texts), sum(term in text for text in texts))
        for term in extract_terms(query)
    }
