"""Ranking of candidates by one score on a fixed scale, the fusion of their signals.

The signals are weighted; the weights sum to 1, so a score is in 0..1 and is the sum of its named
parts. No scale depends on other candidates, so a minimum score means the same for each query, in
each language (see `compute_language_exponent`).
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kmapp.database.ids import IdText
from kmapp.search.candidate_signals import (
    E5_SCALE,
    Candidate,
    CosineScale,
    Query,
    SignalColumns,
    compute_signals,
)
from kmapp.search.signal_weights import SHIPPED_WEIGHTS, Signals, Weights, build_weights
from kmapp.text.terms import chinese_share

ENGLISH_EXPONENT = 0.54  # exponent at which medians of English and Chinese scores are equal


class RankedCandidate(NamedTuple):
    id: IdText
    score: float  # on the scale of all languages
    unscaled_score: float  # the weighted sum itself
    values: Signals[float]
    weights: Weights

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


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class RankedCandidates:
    """Candidates, best first; equal scores are in the order of their ids.

    A search returns few of them, so a `RankedCandidate` is built when it is accessed.
    """

    signals: SignalColumns
    weights: tuple[Weights, Weights]  # of candidates without and with a vector
    columns: Sequence[int]  # of each candidate in `signals.values`
    scores: Sequence[float]
    unscaled_scores: Sequence[float]

    @property
    def ids(self) -> list[IdText]:
        return [self.signals.ids[column] for column in self.columns]

    def __iter__(self) -> Iterator[RankedCandidate]:
        return map(self.__getitem__, range(len(self.columns)))

    def __getitem__(self, rank: int) -> RankedCandidate:
        column = self.columns[rank]
        return RankedCandidate(
            id=self.signals.ids[column],
            score=self.scores[rank],
            unscaled_score=self.unscaled_scores[rank],
            values=Signals(*self.signals.values[:, column].tolist()),
            weights=self.weights[int(self.signals.has_vector[column])],
        )


def rank_candidates(
    query: Query,
    candidates: Iterable[Candidate],
    scale: CosineScale = E5_SCALE,
    *,
    without: frozenset[str] = frozenset(),
    learned: tuple[float, ...] = SHIPPED_WEIGHTS,
) -> RankedCandidates:
    """Return the candidates, best first.

    `without` names signals that these candidates do not have; the others share their weight.
    """
    signals = compute_signals(query, list(candidates), scale, without=without)
    return rank_signals(signals, learned)


def rank_signals(
    signals: SignalColumns, learned: tuple[float, ...] = SHIPPED_WEIGHTS
) -> RankedCandidates:
    """Return the candidates with these signals, best first."""
    weights = (
        build_weights(0.0, signals.without, learned),
        build_weights(signals.meaning, signals.without, learned),
    )
    words_only, with_vector = (np.array(each.factors)[:, np.newaxis] for each in weights)
    weighted = signals.values * np.where(signals.has_vector, with_vector, words_only)
    # Unlike `sum`, `cumsum` adds in the order of the signals, however many candidates there are.
    unscaled_scores: list[float] = weighted.cumsum(axis=0)[-1].tolist()
    # Not with `**` of NumPy, which is less exact on some processors.
    exponent = compute_language_exponent(signals.query)
    scores = [each**exponent for each in unscaled_scores]
    columns = sorted(range(len(scores)), key=lambda column: (-scores[column], signals.ids[column]))
    return RankedCandidates(
        signals=signals,
        weights=weights,
        columns=columns,
        scores=[scores[column] for column in columns],
        unscaled_scores=[unscaled_scores[column] for column in columns],
    )


def compute_language_exponent(query: str) -> float:
    """Return the exponent that makes scores of queries in different languages comparable.

    A right answer to an English query scores lower than to the same query in Chinese: an English
    query seldom uses the words of its answer, and vectors of Chinese are closer together. The
    exponent raises scores of English queries; it changes neither 0 nor 1, and no order. `manage.py
    retrieval level` measures it on equal facts and queries in both languages.
    """
    return ENGLISH_EXPONENT + (1 - ENGLISH_EXPONENT) * chinese_share(query)
