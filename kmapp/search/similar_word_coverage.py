"""Coverage of a query's words by similar words. Pure.

"Which pets does Ann have?" is answered by "I took the dog to the vet." A word of the query counts
by the most similar word of the text, or of the entries up to four steps before and after it.
"""

from collections.abc import Mapping, Sequence
from itertools import islice

import numpy as np

from kmapp.search.bm25 import MAX_MASK_TERMS
from kmapp.search.neighbour_evidence import Surroundings
from kmapp.text.query_independent_features import compute_ranking_features
from kmapp.text.terms import extract_terms
from kmapp.text.word_vectors import compare_words

STEPS = 4
MIN_SIMILARITY = 0.2  # cosine of unrelated words


def compute_similar_coverage(
    query: str,
    idf: Mapping[str, float],
    texts: Sequence[tuple[str, ...]],
    surroundings: Surroundings,
) -> list[float]:
    """Return for each text the share of the query's idf that similar words cover, 0 to 1.

    `idf` is of the terms of the query, rarest first, of which the first 60 count. A text is its
    words, see `RankingFeatures`.
    """
    rarest = dict(islice(idf.items(), MAX_MASK_TERMS))
    # Not from the cache, which is for the short beginnings of texts: a query may be long.
    words = compute_ranking_features.__wrapped__(query).words
    idf_by_word = {
        word: rarest[term] for word in words for term in extract_terms(word) if rarest.get(term)
    }
    if not idf_by_word or not texts:
        return [0.0] * len(texts)
    similarity = compare_words(list(idf_by_word), texts)
    nearest = surroundings.combine(np.maximum, similarity, steps=STEPS)
    weights = np.array(list(idf_by_word.values()))
    covered = ((nearest - MIN_SIMILARITY) / (1 - MIN_SIMILARITY)).clip(0, 1) * weights
    shares: list[float] = (covered.sum(axis=1) / weights.sum()).tolist()
    return shares
