"""BM25, the lexical score, as formulas.

SQL computes the same sums over postings; these functions say what it must compute, and tests
hold the two together.
"""

import math
from collections.abc import Mapping

from kmapp.text.terms import chinese_share

# Texts are short: a term seldom repeats, and length says little.
K1 = 0.9  # how soon repeating a term stops counting
B = 0.4  # how much a long document is held against it


def idf(documents: int, containing: int) -> float:
    """How much a term says when `containing` of all `documents` hold it. Never negative."""
    return math.log1p((documents - containing + 0.5) / (containing + 0.5))


def drop_unknown_terms(containing: Mapping[str, int]) -> dict[str, int]:
    """Return the terms of a query with their document counts, without unknown languages.

    When a Chinese query meets English texts, no text contains its Chinese words. Counting them as
    missing would hide that a text contains the name in the query.
    """
    chinese = {term for term in containing if chinese_share(term)}
    if any(containing[term] for term in chinese):
        return dict(containing)
    return {term: count for term, count in containing.items() if term not in chinese}


def weight(frequency: int, length: int, average_length: float) -> float:
    """How strongly one document speaks of a term: 0 when absent, below K1 + 1 always."""
    if not frequency:
        return 0.0
    slack = K1 * (1 - B + B * length / average_length)
    return frequency * (K1 + 1) / (frequency + slack)


def score(
    query: Mapping[str, float], frequencies: Mapping[str, int], length: int, average_length: float
) -> float:
    """BM25 of one document: `query` gives each distinct term of the query its idf."""
    return sum(
        rarity * weight(frequencies.get(term, 0), length, average_length)
        for term, rarity in query.items()
    )
