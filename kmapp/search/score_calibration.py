"""Score calibration, so that a minimum score means the same in every language.

A right answer to an English query scores lower than to the same query in Chinese: an English query
seldom uses the words of its answer, and vectors of Chinese are closer together. The exponent raises
scores of English queries; it changes neither 0 nor 1, and no order. `manage.py retrieval level`
measures it on equal facts and queries in both languages.
"""

from kmapp.text.terms import chinese_share

ENGLISH = 0.56  # at this exponent, medians of English and Chinese scores are equal


def bend(requested: str) -> float:
    """Return the exponent for scores of this query; 1 for Chinese."""
    return ENGLISH + (1 - ENGLISH) * chinese_share(requested)
