"""Ranking of candidates by one score on a fixed scale, the fusion of their signals.

The signals are weighted; the weights sum to 1, so a score is in 0..1 and is the sum of its named
parts. No scale depends on other candidates, so a minimum score means the same for each query, in
each language (see `compute_language_exponent`).
"""

from collections.abc import Iterable
from operator import mul
from typing import NamedTuple

from kmapp.database.ids import IdText
from kmapp.search.candidate_signals import E5_SCALE, Candidate, CosineScale, Query, compute_signals
from kmapp.search.signal_weights import SHIPPED_WEIGHTS, Signals, Weights, build_weights
from kmapp.text.terms import chinese_share

ENGLISH_EXPONENT = 0.54  # exponent at which medians of English and Chinese scores are equal


class RankedCandidate(NamedTuple):
    id: IdText
    score: float  # on the scale of all languages
    unscaled_score: float  # the weighted sum itself
    values: Signals
    weights: Weights
    meaning: float  # its weight of meaning against words

    @property
    def parts(self) -> dict[str, float]:
        """Return the share of each signal, computed on access because few are displayed."""
        share = self.score / self.unscaled_score if self.unscaled_score else 1.0
        return {
            name: weight * value * share
            for name, weight, value in zip(
                Signals._fields, self.weights.by_signal, self.values, strict=True
            )
            if weight is not None
        }


def rank_candidates(
    query: Query,
    candidates: Iterable[Candidate],
    scale: CosineScale = E5_SCALE,
    *,
    without: frozenset[str] = frozenset(),
    learned: tuple[float, ...] = SHIPPED_WEIGHTS,
) -> list[RankedCandidate]:
    """Return the candidates, best first; equal scores are in the order of their ids.

    `without` names signals that these candidates do not have; the others share their weight.
    """
    pool = list(candidates)
    exponent, ranked = compute_language_exponent(query.text), []
    signals = compute_signals(query, pool, scale, without=without)
    for each, (values, meaning) in zip(pool, signals, strict=True):
        weights = build_weights(meaning, without, learned)
        ranked.append(_score_candidate(each.id, values, meaning, weights, exponent))
    return sorted(ranked, key=_best_first)


def rank_with_weights(
    query: str,
    ranked: Iterable[RankedCandidate],
    learned: tuple[float, ...],
    without: frozenset[str] = frozenset(),
) -> list[RankedCandidate]:
    """Return these results as `rank_candidates` would with other weights."""
    exponent = compute_language_exponent(query)
    candidates = [
        _score_candidate(
            each.id,
            each.values,
            each.meaning,
            build_weights(each.meaning, without, learned),
            exponent,
        )
        for each in ranked
    ]
    return sorted(candidates, key=_best_first)


def _score_candidate(
    id_: IdText, values: Signals, meaning: float, weights: Weights, exponent: float
) -> RankedCandidate:
    unscaled_score = sum(map(mul, weights.factors, values))
    return RankedCandidate(id_, unscaled_score**exponent, unscaled_score, values, weights, meaning)


def _best_first(result: RankedCandidate) -> tuple[float, IdText]:
    return -result.score, result.id


def compute_language_exponent(query: str) -> float:
    """Return the exponent that makes scores of queries in different languages comparable.

    A right answer to an English query scores lower than to the same query in Chinese: an English
    query seldom uses the words of its answer, and vectors of Chinese are closer together. The
    exponent raises scores of English queries; it changes neither 0 nor 1, and no order. `manage.py
    retrieval level` measures it on equal facts and queries in both languages.
    """
    return ENGLISH_EXPONENT + (1 - ENGLISH_EXPONENT) * chinese_share(query)
