"""Tuning of search weights on files of labelled questions, and ablation of signals.

Weights are evaluated on held-out questions: one group at a time (a conversation), or every other
question of a file with a single group.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kmapp.search.fusion import compute_signals, rank_candidates
from memory.benchmarks.question_sets import EvaluatedQuestion, alone
from memory.learning.fit import Example, Matrix, learn, signal_rows

DEPTHS = (5, 10, 20)


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
        rows = signal_rows(compute_signals(each.query, each.candidates))
        right = np.array([candidate.id in each.gold for candidate in each.candidates])
        named_shares = {
            ranked.id: ranked.score for ranked in rank_candidates(each.query, each.candidates)
        }
        scores = np.array([named_shares[candidate.id] for candidate in each.candidates])
        collected.append(Example(each.group, rows, right, each.gold_count, scores))
    return collected


def lone(questions: Iterable[EvaluatedQuestion]) -> list[Example]:
    return examples(alone(each) for each in questions)


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
