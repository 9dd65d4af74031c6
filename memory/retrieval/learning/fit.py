"""Fit of search weights to labelled questions.

The model is linear, so that a score stays a sum of named parts. It is trained to rank relevant
candidates first (softmax over the candidates of each question), with weights of at least 0.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kmapp.search.candidate_signals import SignalColumns
from kmapp.search.signal_weights import LEARNED_WEIGHTS, Signals, compute_balance

Matrix = NDArray[np.float64]
NAMES = list(LEARNED_WEIGHTS)
STEPS, DAMPING, MIN_PACE = 12, 1e-3, 0.01
SCALES = np.geomspace(2, 64, 24)  # sums of weights before they are scaled to sum 1
PRIOR_EXAMPLES = 1.0  # how many examples the prior counts as


@dataclass(frozen=True, slots=True)
class Example:
    """One question as arrays, with a row for each candidate."""

    group: str
    rows: Matrix
    right: NDArray[np.bool_]
    gold_count: int
    scores: Matrix  # the scores of the product, with the shipped weights


def build_signal_rows(signals: SignalColumns) -> Matrix:
    """Return a row for each candidate: its learned signals, balanced by its weight of meaning."""
    places = [Signals._fields.index(name) for name in NAMES]
    words_only, with_vector = (
        np.array([compute_balance(name, meaning) for name in NAMES])
        for meaning in (0.0, signals.meaning)
    )
    balance = np.where(signals.has_vector[:, np.newaxis], with_vector, words_only)
    rows: Matrix = np.ascontiguousarray(signals.values[places].T * balance)
    return rows


def fit_weights(examples: Sequence[Example], *, prior: Matrix | None = None) -> Matrix:
    """Return the weights of at least 0, with sum 1, that minimize the loss.

    By Newton's method; a weight that would become negative stays 0. The fewer the examples, the
    closer the weights stay to those of `prior`.
    """
    loss = _Loss([each for each in examples if each.right.any()])
    weights = np.full(len(NAMES), 2.0) if prior is None else loss.stay_close_to(prior)
    for _ in range(STEPS):
        slope, curvature = loss.compute_derivatives(weights)
        free = ~((weights <= 0) & (slope > 0))
        move = np.zeros(len(NAMES))
        move[free] = np.linalg.solve(curvature[np.ix_(free, free)], -slope[free])
        before, pace = loss.compute(weights), 1.0
        while loss.compute(np.maximum(weights + pace * move, 0)) > before and pace > MIN_PACE:
            pace /= 2
        weights = np.maximum(weights + pace * move, 0)
    return np.asarray(weights / weights.sum())


class _Loss:
    """The mean negative log-likelihood of the answers among the candidates of their question."""

    def __init__(self, examples: Sequence[Example]) -> None:
        self.rows = np.vstack([each.rows for each in examples])
        sizes = [len(each.right) for each in examples]
        self.starts = np.cumsum([0, *sizes[:-1]])
        self.owner = np.repeat(np.arange(len(sizes)), sizes)
        right = np.concatenate([each.right for each in examples]).astype(float)
        self.target = right / np.add.reduceat(right, self.starts)[self.owner]
        self.size = len(examples)
        self.centre, self.damping = np.zeros(len(NAMES)), DAMPING

    def stay_close_to(self, prior: Matrix) -> Matrix:
        """Prefer these weights, whose scale is free; return them on the best scale."""
        self.centre = min((scale * prior for scale in SCALES), key=self.compute)
        self.damping = PRIOR_EXAMPLES / self.size
        return self.centre

    def compute(self, weights: Matrix) -> float:
        return float(
            -(self.target * np.log(self._compute_probabilities(weights) + 1e-300)).sum()
        ) / self.size + (
            self.damping / 2 * float((weights - self.centre) @ (weights - self.centre))
        )

    def compute_derivatives(self, weights: Matrix) -> tuple[Matrix, Matrix]:
        probabilities = self._compute_probabilities(weights)
        slope = self.rows.T @ (probabilities - self.target) / self.size
        slope += self.damping * (weights - self.centre)
        weighted = probabilities[:, None] * self.rows
        means = np.add.reduceat(weighted, self.starts, axis=0)
        curvature = (self.rows.T @ weighted - means.T @ means) / self.size
        return slope, curvature + self.damping * np.eye(len(weights))

    def _compute_probabilities(self, weights: Matrix) -> Matrix:
        score = self.rows @ weights
        raised = np.exp(score - np.maximum.reduceat(score, self.starts)[self.owner])
        return np.asarray(raised / np.add.reduceat(raised, self.starts)[self.owner])
