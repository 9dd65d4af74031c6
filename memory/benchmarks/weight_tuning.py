"""Tuning of search weights on labelled questions, and ablation of signals.

The model is linear, so that a score stays a sum of named parts. It is trained to rank relevant
candidates first (softmax over the candidates of each question), with weights of at least 0. It is
evaluated on held-out questions: one group at a time (a conversation), or every other question of a
file with a single group.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kmapp.search.fusion import BY_HAND, LEARNED, balance, fuse, signals
from memory.benchmarks.question_sets import EvaluatedQuestion, alone

Matrix = NDArray[np.float64]
NAMES = [name for name in LEARNED if name not in BY_HAND]
STEPS, DAMPING, LEAST_PACE = 12, 1e-3, 0.01
DEPTHS = (5, 10, 20)


@dataclass(frozen=True, slots=True)
class Example:
    """One question as arrays, with a row for each candidate."""

    group: str
    rows: Matrix
    right: NDArray[np.bool_]
    gold_count: int
    scores: Matrix  # the scores of the product, with the shipped weights


@dataclass(slots=True)
class Figures:
    """Recall at several depths, and the share of questions with an answer in the first ten."""

    recall: dict[int, list[float]] = field(default_factory=lambda: {k: [] for k in DEPTHS})
    hit: list[float] = field(default_factory=list)
    reciprocal: list[float] = field(default_factory=list)

    def add(self, example: Example, weights: Matrix) -> None:
        order = np.argsort(-(example.rows @ weights), kind="stable")
        right = example.right[order]
        for depth, shares in self.recall.items():
            shares.append(float(right[:depth].sum()) / example.gold_count)
        self.hit.append(float(right[:10].any()))
        places = np.flatnonzero(right)
        self.reciprocal.append(1 / (int(places[0]) + 1) if len(places) else 0.0)

    def named_shares(self) -> dict[str, float]:
        means = {f"R@{depth}": float(np.mean(shares)) for depth, shares in self.recall.items()}
        means |= {"hit@10": float(np.mean(self.hit)), "MRR": float(np.mean(self.reciprocal))}
        return {name: round(value, 4) for name, value in means.items()}


def examples(questions: Iterable[EvaluatedQuestion]) -> list[Example]:
    collected = []
    for each in questions:
        rows = [
            [getattr(candidate_signals, name) * balance(name, meaning) for name in NAMES]
            for candidate_signals, meaning in signals(each.query, each.candidates)
        ]
        right = np.array([candidate.id in each.gold for candidate in each.candidates])
        named_shares = {ranked.id: ranked.score for ranked in fuse(each.query, each.candidates)}
        scores = np.array([named_shares[candidate.id] for candidate in each.candidates])
        collected.append(Example(each.group, np.array(rows), right, each.gold_count, scores))
    return collected


def lone(questions: Iterable[EvaluatedQuestion]) -> list[Example]:
    return examples(alone(each) for each in questions)


def learn(example_list: Sequence[Example], without: frozenset[str] = frozenset()) -> Matrix:
    """Return the weights of at least 0, with sum 1, that minimize the loss.

    By Newton's method; a weight that would become negative stays 0.
    """
    taught = [each for each in example_list if each.right.any()]
    loss = _Loss(taught)
    is_included = np.array([name not in without for name in NAMES])
    weights = is_included * 2.0
    for _ in range(STEPS):
        slope, curvature = loss.derivatives(weights)
        free = is_included & ~((weights <= 0) & (slope > 0))
        move = np.zeros(len(NAMES))
        move[free] = np.linalg.solve(curvature[np.ix_(free, free)], -slope[free])
        before, pace = loss.of(weights), 1.0
        while loss.of(np.maximum(weights + pace * move, 0)) > before and pace > LEAST_PACE:
            pace /= 2
        weights = np.maximum(weights + pace * move, 0)
    return np.asarray(weights / weights.sum())


class _Loss:
    """The mean negative log-likelihood of the answers among the candidates of their question."""

    def __init__(self, taught: Sequence[Example]) -> None:
        self.rows = np.vstack([each.rows for each in taught])
        sizes = [len(each.right) for each in taught]
        self.starts = np.cumsum([0, *sizes[:-1]])
        self.owner = np.repeat(np.arange(len(sizes)), sizes)
        right = np.concatenate([each.right for each in taught]).astype(float)
        self.target = right / np.add.reduceat(right, self.starts)[self.owner]
        self.size = len(taught)

    def of(self, weights: Matrix) -> float:
        return float(-(self.target * np.log(self._likely(weights) + 1e-300)).sum()) / self.size + (
            DAMPING / 2 * float(weights @ weights)
        )

    def derivatives(self, weights: Matrix) -> tuple[Matrix, Matrix]:
        likely = self._likely(weights)
        slope = self.rows.T @ (likely - self.target) / self.size + DAMPING * weights
        weighted = likely[:, None] * self.rows
        means = np.add.reduceat(weighted, self.starts, axis=0)
        curvature = (self.rows.T @ weighted - means.T @ means) / self.size
        return slope, curvature + DAMPING * np.eye(len(weights))

    def _likely(self, weights: Matrix) -> Matrix:
        score = self.rows @ weights
        raised = np.exp(score - np.maximum.reduceat(score, self.starts)[self.owner])
        return np.asarray(raised / np.add.reduceat(raised, self.starts)[self.owner])


@dataclass(frozen=True, slots=True)
class Source:
    """Questions of one file; `lone` has them with each memory without its context."""

    name: str
    example_list: Sequence[Example]
    lone: Sequence[Example] = ()

    def folds(self) -> list[Callable[[int], bool]]:
        """Return a predicate for each group of examples that are held out together."""
        groups = list(dict.fromkeys(each.group for each in self.example_list))
        if len(groups) > 1:
            return [lambda n, g=group: self.example_list[n].group == g for group in groups]  # type: ignore[misc]
        return [lambda n, r=rest: n % 2 == r for rest in (0, 1)]  # type: ignore[misc]


def taught(sources: Sequence[Source], held: Source | None = None, out: Any = None) -> list[Example]:
    """Return all examples except those held out."""
    return [
        example
        for source in sources
        for n, example in enumerate(source.example_list)
        if source is not held or not out(n)
    ]


def held_out(
    sources: Sequence[Source], without: frozenset[str] = frozenset()
) -> dict[str, Figures]:
    """Evaluate weights on the examples that they were not tuned on, by file."""
    named_shares: dict[str, Figures] = {}
    for source in sources:
        figures = named_shares.setdefault(source.name, Figures())
        for out in source.folds():
            weights = learn(taught(sources, source, out), without)
            for n, example in enumerate(source.example_list):
                if out(n):
                    figures.add(example, weights)
    return named_shares


def with_weights(source: Source, weights: Matrix) -> Figures:
    figures = Figures()
    for example in source.example_list:
        figures.add(example, weights)
    return figures
