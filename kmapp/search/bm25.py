"""BM25, the lexical score.

`kmapp.search.posting_scores` computes the same sums over arrays; a test compares both.
"""

import math
from collections.abc import Container, Iterable, Mapping
from itertools import islice

from kmapp.text.terms import chinese_share

# Texts are short: terms seldom repeat, and the length carries little information.
K1 = 0.9  # saturation of repeated terms
B = 0.4  # penalty of long documents
MAX_MASK_TERMS = 60  # terms of a query that have a bit in a term mask


def idf(documents: int, containing: int) -> float:
    """Return the weight of a term that `containing` of all `documents` contain, at least 0."""
    return math.log1p((documents - containing + 0.5) / (containing + 0.5))


def drop_unknown_terms(containing: Mapping[str, int]) -> dict[str, int]:
    """Return the terms of a query with their document counts, without unknown languages.

    English texts contain none of the Chinese words of a query. Counting these as missing would hide
    that a text contains the name in the query.
    """
    chinese = {term for term in containing if chinese_share(term)}
    if any(containing[term] for term in chinese):
        return dict(containing)
    return {term: count for term, count in containing.items() if term not in chinese}


def weight(frequency: int, length: int, average_length: float) -> float:
    """Return the weight of a term in one document: 0 if absent, always below K1 + 1."""
    if not frequency:
        return 0.0
    slack = K1 * (1 - B + B * length / average_length)
    return frequency * (K1 + 1) / (frequency + slack)


def score(
    query: Mapping[str, float], frequencies: Mapping[str, int], length: int, average_length: float
) -> float:
    """Return the BM25 score of one document; `query` maps each distinct term to its idf."""
    return sum(
        rarity * weight(frequencies.get(term, 0), length, average_length)
        for term, rarity in query.items()
    )


def build_term_mask(terms: Iterable[str], contained: Container[str]) -> int:
    """Return a bit for each of the first terms of a query that a document contains."""
    return sum(
        1 << bit for bit, term in enumerate(islice(terms, MAX_MASK_TERMS)) if term in contained
    )
