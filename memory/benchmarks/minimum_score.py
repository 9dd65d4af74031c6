"""Effect of a minimum score in Chinese and in English.

Both languages have the same facts and questions, so that neither has easier ones.
`kmapp.search.candidate_ranking.ENGLISH_EXPONENT` was fitted to the first half of them; the second
half is held out.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from kmapp.search.candidate_ranking import rank_candidates
from memory.benchmarks.offline_retrieval import EvaluatedQuestion, Vectors, evaluate_questions

PAIRS = Path(__file__).parent / "parallel.json"
THRESHOLDS = (0.4, 0.45, 0.5, 0.55, 0.6, 0.65)
HALVES = ("fitted", "held out")


@dataclass(frozen=True, slots=True)
class Scores:
    """For each question, the score of its answer and the best score of a wrong result."""

    right: Sequence[float]
    wrong: Sequence[float]

    @classmethod
    def of(cls, questions: Sequence[EvaluatedQuestion]) -> "Scores":
        right, wrong = [], []
        for each in questions:
            ranked = rank_candidates(each.query, each.candidates)
            results = [*zip(ranked.ids, ranked.scores, strict=True)]
            right.append(max((score for pk, score in results if pk in each.gold), default=0.0))
            wrong.append(max((score for pk, score in results if pk not in each.gold), default=0.0))
        return cls(right, wrong)


def build_collection(language: str) -> dict[str, Any]:
    """Return facts as unrelated memories, one per day, with a question about each."""
    pairs = json.loads(PAIRS.read_text(encoding="utf-8"))[language]
    items = [
        {"id": str(n), "run": f"run-{n}", "text": fact, "observed_at": f"2026-01-{n % 28 + 1:02}"}
        for n, (fact, _) in enumerate(pairs)
    ]
    queries = [{"text": question, "gold": [str(n)]} for n, (_, question) in enumerate(pairs)]
    return {"id": language, "items": items, "queries": queries}


def minimum_score_lines(vectors: Vectors) -> Iterator[str]:
    """Return a Markdown table of results and errors at each minimum score."""
    halves = {}
    for language in ("en", "zh"):
        questions = evaluate_questions([build_collection(language)], vectors)
        for half, sample in zip(HALVES, (questions[::2], questions[1::2]), strict=True):
            halves[half, language] = Scores.of(sample)
    yield f"| minimum score | {' | '.join(f'{name}, {half}' for half, name in halves)} |"
    yield f"| --- |{' ---: |' * len(halves)}"
    for threshold in THRESHOLDS:
        shares = [
            (_compute_share(each.right, threshold), _compute_share(each.wrong, threshold))
            for each in halves.values()
        ]
        cells = [f"{right:.0%} / {wrong:.0%}" for right, wrong in shares]
        yield f"| {threshold:.2f} | {' | '.join(cells)} |"


def _compute_share(scores: Sequence[float], threshold: float) -> float:
    return mean(score >= threshold for score in scores)
