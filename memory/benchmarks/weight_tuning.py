"""Tuning of search weights on files of labelled questions, and ablation of signals.

Weights are evaluated on held-out questions: one group at a time (a conversation), or every other
question of a file with a single group.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from kmapp.search.candidate_ranking import rank_signals
from kmapp.search.candidate_signals import compute_signals
from memory.benchmarks.offline_retrieval import EvaluatedQuestion
from memory.retrieval.learning.fit import Example, Matrix, build_signal_rows, fit_weights

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

    def as_dict(self) -> dict[str, float]:
        """Return each figure under its name in the tables."""
        means = {f"R@{depth}": float(np.mean(shares)) for depth, shares in self.recall.items()}
        means |= {"hit@10": float(np.mean(self.hit)), "MRR": float(np.mean(self.reciprocal))}
        return {name: round(value, 4) for name, value in means.items()}


def build_examples(questions: Iterable[EvaluatedQuestion]) -> list[Example]:
    examples = []
    for each in questions:
        signals = compute_signals(each.query, each.candidates)
        rows = build_signal_rows(signals)
        right = np.array([candidate.id in each.gold for candidate in each.candidates])
        ranked = rank_signals(signals)
        scores = np.empty(len(rows))
        scores[ranked.columns] = ranked.scores
        examples.append(Example(each.group, rows, right, each.gold_count, scores))
    return examples


@dataclass(frozen=True, slots=True)
class QuestionFile:
    """The questions of one file, also with each memory without its context."""

    name: str
    examples: Sequence[Example]
    without_context: Sequence[Example] = ()

    def folds(self) -> list[Callable[[int], bool]]:
        """Return a predicate for each group of examples that are held out together."""
        groups = list(dict.fromkeys(each.group for each in self.examples))
        if len(groups) > 1:
            return [lambda n, g=group: self.examples[n].group == g for group in groups]  # type: ignore[misc]
        return [lambda n, r=rest: n % 2 == r for rest in (0, 1)]  # type: ignore[misc]


def list_training_examples(
    sources: Sequence[QuestionFile],
    held_out_source: QuestionFile | None = None,
    is_held_out: Callable[[int], bool] = lambda _number: False,
) -> list[Example]:
    """Return all examples except those held out."""
    return [
        example
        for source in sources
        for n, example in enumerate(source.examples)
        if source is not held_out_source or not is_held_out(n)
    ]


def evaluate_held_out(sources: Sequence[QuestionFile]) -> dict[str, Figures]:
    """Evaluate weights on the examples that they were not tuned on, by file."""
    figures_by_source: dict[str, Figures] = {}
    for source in sources:
        figures = figures_by_source.setdefault(source.name, Figures())
        for is_held_out in source.folds():
            weights = fit_weights(list_training_examples(sources, source, is_held_out))
            for n, example in enumerate(source.examples):
                if is_held_out(n):
                    figures.add(example, weights)
    return figures_by_source


def evaluate(examples: Sequence[Example], weights: Matrix) -> Figures:
    figures = Figures()
    for example in examples:
        figures.add(example, weights)
    return figures
