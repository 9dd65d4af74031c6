"""Score calibration, so that a minimum score means the same in every language.

A right answer to an English question scores lower than to the same question in Chinese: English
words seldom are those of the answer, and vectors of Chinese lie closer together. `manage.py
retrieval level` measures it on the same facts and questions in both languages. Bending raises what
is asked in English to where Chinese is; it moves neither 0 nor 1, and never changes an order.
"""

from kmapp.text.terms import chinese_share

ENGLISH = 0.56  # the power that lays medians of English scores upon those of Chinese ones


def bend(requested: str) -> float:
    """Return the exponent for scores of this query; 1 for Chinese."""
    return ENGLISH + (1 - ENGLISH) * chinese_share(requested)
