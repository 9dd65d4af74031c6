"""Similarity of a proposed text to an existing one: equal, update, contradiction. Pure.

Thresholds were set on 36 pairs in English and Chinese, which a test checks.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from kmapp.text.terms import extract_terms
from memory.review.contradictions import (
    Contrast,
    announces_change,
    find_contrast,
    remove_contrasted_values,
)

Relation = Literal["duplicate", "update", "contradiction", "similar"]

MIN_SAME_SUBJECT = 0.5  # weighted share of the words, without numbers and negations
MIN_SAME_SUBJECT_WITHOUT_VECTORS = 0.7  # without vectors
MIN_DUPLICATE_SCORE = 0.65  # mean of meaning and words
MIN_SAME_MEANING = 0.5  # see `compute_closeness`
EXTRA_WITHOUT_VECTORS = 0.15  # added to the minimum without vectors
MIN_CONTAINED_SHARE = 0.85  # share of the existing text's words that the new text contains
MAX_EXTENDED_SIMILARITY = 0.85  # similarity by words below which the new text adds something
MIN_SIMILARITY = 0.25  # minimum similarity of a finding

# Passages share a template and dates, so their cosines exceed those of questions and answers: the
# range is at the upper end of the model's scale, and beyond.
CLOSENESS_START, CLOSENESS_END = 0.75, 1.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """Minimum similarity of duplicates and of related texts of an account, from 0 to 1."""

    min_duplicate: float = MIN_DUPLICATE_SCORE
    min_same_meaning: float = MIN_SAME_MEANING


@dataclass(frozen=True, slots=True, kw_only=True)
class TextComparison:
    """The relation of two texts, their similarity from 0 to 1, and its parts."""

    relation: Relation | None  # None: nothing in common
    score: float
    words: float
    meaning: float | None  # None: one of them has no vector yet
    contrast: Contrast


def compute_closeness(cosine: float, *, low: float, high: float) -> float:
    """Map a cosine to 0..1 on the scale of a model."""
    share = (cosine - low) / (high - low)
    return min(1.0, max(0.0, (share - CLOSENESS_START) / (CLOSENESS_END - CLOSENESS_START)))


def compare_texts(
    new: str,
    old: str,
    *,
    meaning: float | None,
    weights: Mapping[str, float] | None = None,
    bounds: Bounds = Bounds(),
) -> TextComparison:
    """Compare two texts: `meaning` is their `compute_closeness`, `weights` the idf of terms."""
    term_weights = _TermWeights(weights or {})
    words = term_weights.compute_dice(new, old)
    subject = term_weights.compute_dice(
        remove_contrasted_values(new), remove_contrasted_values(old)
    )
    score = words if meaning is None else (words + meaning) / 2
    contrast = find_contrast(new, old)
    if meaning is None:
        is_same_subject = subject >= MIN_SAME_SUBJECT_WITHOUT_VECTORS
    else:
        is_same_subject = subject >= MIN_SAME_SUBJECT and meaning >= bounds.min_same_meaning
    relation: Relation | None = "similar" if score >= MIN_SIMILARITY else None
    if is_same_subject and contrast:
        relation = "update" if announces_change(new) else "contradiction"
    elif (
        is_same_subject
        and term_weights.compute_contained_share(old, new) >= MIN_CONTAINED_SHARE
        and words < MAX_EXTENDED_SIMILARITY
    ):
        relation = "update"
    elif score >= bounds.min_duplicate + (EXTRA_WITHOUT_VECTORS if meaning is None else 0):
        relation = "duplicate"
    return TextComparison(
        relation=relation, score=score, words=words, meaning=meaning, contrast=contrast
    )


class _TermWeights:
    """Texts as sets of weighted terms."""

    def __init__(self, weights: Mapping[str, float]) -> None:
        self.weights = weights
        # The weight of terms that have none.
        self.average = fmean(weights.values()) if weights else 1.0

    def compute_dice(self, one: str, other: str) -> float:
        """Return the Dice coefficient of the weighted terms of both texts."""
        terms_of_one, terms_of_other = set(extract_terms(one)), set(extract_terms(other))
        total = self._sum(terms_of_one) + self._sum(terms_of_other)
        return 2 * self._sum(terms_of_one & terms_of_other) / total if total else 0.0

    def compute_contained_share(self, part: str, whole: str) -> float:
        """Return the share of a text's weighted terms that another text contains."""
        part_terms = set(extract_terms(part))
        total = self._sum(part_terms)
        return self._sum(part_terms & set(extract_terms(whole))) / total if total else 0.0

    def _sum(self, words: set[str]) -> float:
        return sum(self.weights.get(word, self.average) for word in words)
