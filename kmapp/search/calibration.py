"""Probability that results are relevant, from their scores, by logistic regression. Pure.

Scores order results; these functions state how often results with such scores were relevant to
labelled questions, half of which had no answer. `manage.py retrieval calibrate` fits the numbers,
and docs/retrieval.md shows them on held-out conversations. They hold for the shipped weights.
"""

import math
from typing import NamedTuple

from kmapp.text.terms import chinese_share

# Minimum confidence in a response. Nine of ten questions with an answer have at least this.
CONFIDENT = 0.3


class Logistic(NamedTuple):
    offset: float
    slope: float

    def at(self, score: float) -> float:
        return self.offset + self.slope * score


class Calibration(NamedTuple):
    """A logistic function for each language. Queries in both languages are between them."""

    english: Logistic
    chinese: Logistic

    def probability(self, score: float, query: str) -> float:
        """Return the probability of an event, to three decimals, for a score and its query."""
        share = chinese_share(query)
        odds = (1 - share) * self.english.at(score) + share * self.chinese.at(score)
        return round(1 / (1 + math.exp(-odds)), 3)


# That a result is relevant.
RESULT = Calibration(english=Logistic(-15.87, 19.56), chinese=Logistic(-19.1, 26.18))
# That any of the first ten results is relevant, from the best score.
RESPONSE = Calibration(english=Logistic(-10.82, 16.11), chinese=Logistic(-14.21, 20.13))
