"""Similarity of a proposed text to an existing one: equal, update, contradiction. Pure.

Thresholds were set on 36 pairs in English and Chinese, which a test checks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from kmapp.text.terms import terms
from memory.review.contradictions import Contrast, announces_change, contrast, subject_of

Relation = Literal["duplicate", "update", "contradiction", "similar"]

SAME_SUBJECT = 0.5  # weighted share of the words, without numbers and negations
SAME_SUBJECT_BY_WORDS = 0.7  # without vectors
ALIKE = 0.65  # mean of meaning and words
SAME_MEANING = 0.5  # see `closeness`
WORDS_ALONE = 0.15  # added to the minimum without vectors
HELD = 0.85  # share of the existing text's words that the new text contains
LONGER = 0.85  # similarity by words below which the new text adds something
LEAST = 0.25  # minimum similarity of a finding

# Passages share a template and dates, so their cosines exceed those of questions and answers: the
# range is at the upper end of the model's scale, and beyond.
CLOSE_FROM, CLOSE_TO = 0.75, 1.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Minimum similarity of duplicates and of related texts of an account, from 0 to 1."""

    alike: float = ALIKE
    same_meaning: float = SAME_MEANING


@dataclass(frozen=True, slots=True, kw_only=True)
class Likeness:
    """The relation of two texts, their similarity from 0 to 1, and its parts."""

    relation: Relation | None  # None: nothing in common
    score: float
    words: float
    meaning: float | None  # None: one of them has no vector yet
    contrast: Contrast


def closeness(cosine: float, *, low: float, high: float) -> float:
    """Map a cosine to 0..1 on the scale of a model."""
    share = (cosine - low) / (high - low)
    return min(1.0, max(0.0, (share - CLOSE_FROM) / (CLOSE_TO - CLOSE_FROM)))


def likeness(
    new: str,
    old: str,
    *,
    meaning: float | None,
    weights: Mapping[str, float] | None = None,
    bounds: Bounds = Bounds(),
) -> Likeness:
    """Compare two texts: `meaning` is their `closeness`, `weights` the idf of terms."""
    weigh = _Weights(weights or {})
    words, subject = weigh.shared(new, old), weigh.shared(subject_of(new), subject_of(old))
    score = words if meaning is None else (words + meaning) / 2
    differ = contrast(new, old)
    if meaning is None:
        about_the_same = subject >= SAME_SUBJECT_BY_WORDS
    else:
        about_the_same = subject >= SAME_SUBJECT and meaning >= bounds.same_meaning
    relation: Relation | None = "similar" if score >= LEAST else None
    if about_the_same and differ:
        relation = "update" if announces_change(new) else "contradiction"
    elif about_the_same and weigh.held(old, new) >= HELD and words < LONGER:
        relation = "update"
    elif score >= bounds.alike + (WORDS_ALONE if meaning is None else 0):
        relation = "duplicate"
    return Likeness(relation=relation, score=score, words=words, meaning=meaning, contrast=differ)


class _Weights:
    """Texts as sets of weighted terms."""

    def __init__(self, weights: Mapping[str, float]) -> None:
        self.weights = weights
        # The default weight of words.
        self.average = fmean(weights.values()) if weights else 1.0

    def shared(self, one: str, other: str) -> float:
        """Return the Dice coefficient of the weighted terms of both texts."""
        here, there = set(terms(one)), set(terms(other))
        both = self._sum(here) + self._sum(there)
        return 2 * self._sum(here & there) / both if both else 0.0

    def held(self, part: str, whole: str) -> float:
        """Return the share of a text's weighted terms that another text contains."""
        here = set(terms(part))
        own_sum = self._sum(here)
        return self._sum(here & set(terms(whole))) / own_sum if own_sum else 0.0

    def _sum(self, words: set[str]) -> float:
        return sum(self.weights.get(word, self.average) for word in words)
