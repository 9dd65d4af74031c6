"""Probability that results are relevant, from their scores, by logistic regression. Pure.

Scores order results; these functions state how often results with such scores were relevant to
labelled questions, half of which had no answer. A score alone does not suffice: in a large account
even unrelated memories have high scores, and short facts have low ones. So its distance from the
scores of the next results counts as well. `manage.py retrieval calibrate` fits the numbers, and
docs/retrieval.md shows them on held-out conversations. They hold for the shipped weights.
"""

import math
from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

# Minimum confidence in a response. Nine of ten questions with an answer have at least this.
MIN_CONFIDENCE = 0.3
COMPARED_RESULTS = 10  # results after the best that scores are compared with
UNRELATED_SCORE = 0.35  # score of unrelated memories, for those that a small account lacks


class Logistic(NamedTuple):
    """The log odds of a score, and of its distance from the next results."""

    offset: float
    slope: float
    distance: float

    def compute_log_odds(self, score: float, following_mean: float) -> float:
        return self.offset + self.slope * score + self.distance * (score - following_mean)


class Calibration(NamedTuple):
    """A logistic function for each language, interpolated for queries in both."""

    english: Logistic
    chinese: Logistic

    def probability(self, score: float, following_mean: float, chinese: float) -> float:
        """Return the probability of an event, to three decimals.

        `chinese` is the share of Chinese in the query, see `kmapp.text.terms.chinese_share`.
        """
        log_odds = (1 - chinese) * self.english.compute_log_odds(
            score, following_mean
        ) + chinese * self.chinese.compute_log_odds(score, following_mean)
        return round(1 / (1 + math.exp(-log_odds)), 3)


def compute_following_mean(scores: Sequence[float]) -> float:
    """Return the mean score of the results after the best one; `scores` are in their order."""
    following = list(scores[1 : COMPARED_RESULTS + 1])
    return fmean([*following, *[UNRELATED_SCORE] * (COMPARED_RESULTS - len(following))])


# Probability that a result is relevant.
RESULT_CALIBRATION = Calibration(
    english=Logistic(-9.19, 8.5, 31.89), chinese=Logistic(-7.81, 5.48, 26.89)
)
# Probability that any of the first ten results is relevant, from the best score.
RESPONSE_CALIBRATION = Calibration(
    english=Logistic(-7.9, 9.83, 23.24), chinese=Logistic(-4.12, 1.04, 24.23)
)
