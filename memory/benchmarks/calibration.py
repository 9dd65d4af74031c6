"""Calibration of the probabilities in `kmapp.search.score_calibration`, and refusal of questions.

Half of the weight is on questions that the memories do not answer, of two kinds: those of the file
without the memories that answer them, and those about another collection. A third kind, questions
with the name of the other speaker, is only measured. Every probability in the tables is of a model
fitted on the other conversations.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kmapp.search.candidate_ranking import rank_candidates
from kmapp.search.score_calibration import (
    MIN_CONFIDENCE,
    Calibration,
    Logistic,
    compute_following_mean,
)
from kmapp.text.terms import chinese_share
from memory.benchmarks.minimum_score import build_collection
from memory.benchmarks.offline_retrieval import (
    EvaluatedQuestion,
    Vectors,
    evaluate_questions,
    load_collections,
)

Floats = NDArray[np.float64]
RESULTS = 20  # results of a question by which scores of results are calibrated
FIRST = 10  # results in a response, one of which should be relevant
STEPS, DAMPING = 40, 1e-6
ANSWERED, REMOVED = "with an answer", "answer removed"
ELSEWHERE, OTHER_SPEAKER = "about another conversation", "about the other speaker"
UNFITTED = OTHER_SPEAKER
THRESHOLDS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6)
TENTHS = 10  # rows of the table
MIN_CASES = 10  # cases that a row of the table needs


@dataclass(frozen=True, slots=True)
class Case:
    """The results of one question."""

    source: str
    kind: str
    fold: str  # cases that are held out together
    share: float  # of Chinese in the question
    scores: Floats
    right: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Observations:
    """Scores with their outcome: of each result, or of the best result of each response."""

    cases: Sequence[Case]  # the case of each score
    scores: Floats
    right: Floats
    weights: Floats
    rows: Floats  # the features of each score

    @classmethod
    def of_results(cls, cases: Sequence[Case]) -> "Observations":
        scores = [score for case in cases for score in case.scores]
        right = [bool(is_right) for case in cases for is_right in case.right]
        return cls._of([case for case in cases for _ in case.scores], scores, right)

    @classmethod
    def of_responses(cls, cases: Sequence[Case]) -> "Observations":
        cases = [case for case in cases if case.scores.size]
        best = [float(case.scores[0]) for case in cases]
        return cls._of(cases, best, [bool(case.right[:FIRST].any()) for case in cases])

    @classmethod
    def _of(
        cls, cases: Sequence[Case], scores: Sequence[float], right: Sequence[bool]
    ) -> "Observations":
        """Weigh questions with and without an answer equally, and so those of each file."""
        groups = [(case.source, case.kind) for case in cases]
        number = {group: groups.count(group) for group in set(groups)}
        kinds = {
            source: len({kind for s, kind in number if s == source} - {ANSWERED, UNFITTED})
            for source, _ in number
        }
        weights = [
            0.0
            if kind == UNFITTED
            else 1 / number[source, kind] / (1 if kind == ANSWERED else kinds[source])
            for source, kind in groups
        ]
        rows = [_build_features(*pair) for pair in zip(cases, scores, strict=True)]
        columns = (np.array(scores), np.array(right, float), np.array(weights), np.array(rows))
        return cls(cases, *columns)

    def fit(self, subset: NDArray[np.bool_] | None = None) -> Calibration:
        """Return the most likely logistic functions, by Newton's method."""
        weights = self.weights if subset is None else self.weights * subset
        weights = weights / weights.sum()
        rows, b = self.rows, np.zeros(self.rows.shape[1])
        for _ in range(STEPS):
            probabilities = 1 / (1 + np.exp(-rows @ b))
            slope = rows.T @ (weights * (probabilities - self.right)) + DAMPING * b
            curvature = (rows * (weights * probabilities * (1 - probabilities))[:, None]).T @ rows
            b -= np.linalg.solve(curvature + DAMPING * np.eye(len(b)), slope)
        numbers = [round(float(each), 2) for each in b]
        return Calibration(Logistic(*numbers[:3]), Logistic(*numbers[3:]))

    def held_out(self) -> Floats:
        """Return the probability of each score by a model fitted on the other conversations."""
        folds = np.array([case.fold for case in self.cases])
        probabilities = np.zeros(len(self.scores))
        for fold in sorted(set(folds)):
            (english, chinese), is_held_out = self.fit(folds != fold), folds == fold
            b = np.array([*english, *chinese])
            probabilities[is_held_out] = 1 / (1 + np.exp(-self.rows[is_held_out] @ b))
        return probabilities

    def of_source(self, name: str) -> NDArray[np.bool_]:
        return np.array([case.source == name for case in self.cases])

    def of_kind(self, name: str, kind: str) -> NDArray[np.bool_]:
        return np.array([(case.source, case.kind) == (name, kind) for case in self.cases])


def _build_features(case: Case, score: float) -> list[float]:
    own = np.array([1.0, score, score - compute_following_mean(case.scores.tolist())])
    return [*((1 - case.share) * own), *(case.share * own)]


def load_facts(vectors: Vectors) -> list[Case]:
    """Return the cases of short facts that are unrelated to each other, in both languages."""
    return [
        case
        for language in ("en", "zh")
        for case in _build_cases(f"facts, {language}", [build_collection(language)], vectors)
    ]


def load_cases(file: Path, vectors: Vectors) -> list[Case]:
    """Return the cases of a file of labelled questions."""
    return _build_cases(file.name, load_collections(file), vectors)


def _build_cases(
    source: str, collections: Sequence[dict[str, Any]], vectors: Vectors
) -> list[Case]:
    answered = evaluate_questions(collections, vectors)
    kinds: dict[str, list[EvaluatedQuestion]] = {
        ANSWERED: answered,
        REMOVED: [_remove_answers(each) for each in answered],
    }
    for kind, changed in {
        ELSEWHERE: _exchange_questions(collections),
        OTHER_SPEAKER: _exchange_speakers(collections),
    }.items():
        if any(each["queries"] for each in changed):
            kinds[kind] = evaluate_questions(changed, vectors)
    has_one_group = len(collections) == 1
    return [
        _build_case(source, kind, f"{source} {n % 2 if has_one_group else each.group}", each)
        for kind, questions in kinds.items()
        for n, each in enumerate(questions)
    ]


def _build_case(source: str, kind: str, fold: str, question: EvaluatedQuestion) -> Case:
    ranked = rank_candidates(question.query, question.candidates)
    return Case(
        source,
        kind,
        fold,
        chinese_share(question.query.text),
        np.array(ranked.scores[:RESULTS]),
        np.array([each in question.gold for each in ranked.ids[:RESULTS]]),
    )


def _remove_answers(question: EvaluatedQuestion) -> EvaluatedQuestion:
    candidates = [each for each in question.candidates if each.id not in question.gold]
    return replace(question, candidates=candidates, gold=frozenset())


def _exchange_questions(collections: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Give each collection the questions of the next one, which it does not answer."""
    others = [*collections[1:], collections[0]] if len(collections) > 1 else [{"queries": []}]
    return [
        {**each, "queries": [{**query, "gold": []} for query in other["queries"]]}
        for each, other in zip(collections, others, strict=True)
    ]


def _exchange_speakers(collections: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Replace the name of a speaker, where there are two, in questions that name only that one."""
    changed = []
    for each in collections:
        speakers = sorted({item.get("speaker") or "" for item in each["items"]} - {""})
        queries = []
        for query in each["queries"] if len(speakers) == 2 else ():  # noqa: PLR2004 - a pair
            named = [name for name in speakers if name in query["text"]]
            if len(named) == 1:
                [other] = {*speakers} - {*named}
                queries.append({"text": query["text"].replace(named[0], other), "gold": []})
        changed.append({**each, "queries": queries})
    return changed


def render_constants(cases: Sequence[Case]) -> Iterator[str]:
    """Return the constants of `kmapp.search.score_calibration` fitted on all cases."""
    yield f"RESULT = {Observations.of_results(cases).fit()}"
    yield f"RESPONSE = {Observations.of_responses(cases).fit()}"


def render_tables(cases: Sequence[Case]) -> Iterator[str]:
    """Return Markdown tables of probabilities and of refused questions."""
    sources = list(dict.fromkeys(case.source for case in cases))
    results, responses = Observations.of_results(cases), Observations.of_responses(cases)
    probabilities = responses.held_out()
    of_results = results.held_out()
    columns = [(results, of_results, results.of_source(source)) for source in sources]
    columns += [(responses, probabilities, responses.of_source(source)) for source in sources]
    headings = [f"{source}, {each}" for each in ("results", "responses") for source in sources]
    yield f"| probability | {' | '.join(headings)} |"
    yield f"| --- |{' ---: |' * len(headings)}"
    for low in range(TENTHS):
        cells = [_share_right(*column, low) for column in columns]
        yield f"| {low / TENTHS:.1f} to {(low + 1) / TENTHS:.1f} | {' | '.join(cells)} |"
    errors = [f"{_calibration_error(*column):.3f}" for column in columns]
    yield f"| mean difference | {' | '.join(errors)} |"
    yield ""
    yield "Questions for which `has_relevant` is false, by minimum confidence:"
    yield ""
    yield from _refusal_lines(sources, responses, probabilities)


def _share_right(
    observed: Observations, probabilities: Floats, subset: NDArray[np.bool_], tenth: int
) -> str:
    selected = subset & (_tenths(probabilities) == tenth) & (observed.weights > 0)
    if selected.sum() < MIN_CASES:
        return "–"
    share = np.average(observed.right[selected], weights=observed.weights[selected])
    return f"{share:.2f} ({selected.sum():,})"


def _calibration_error(
    observed: Observations, probabilities: Floats, subset: NDArray[np.bool_]
) -> float:
    """Return the mean difference of probability and share right over tenths, by weight."""
    weights, tenths = observed.weights * subset, _tenths(probabilities)
    wrong = weights * (probabilities - observed.right)
    total = sum(abs(float(wrong[tenths == tenth].sum())) for tenth in range(TENTHS))
    return total / float(weights.sum())


def _tenths(probabilities: Floats) -> NDArray[np.int64]:
    return np.minimum((probabilities * TENTHS).astype(np.int64), TENTHS - 1)


def _refusal_lines(
    sources: Sequence[str], responses: Observations, probabilities: Floats
) -> Iterator[str]:
    headings = [f"below {t}{' (default)' if t == MIN_CONFIDENCE else ''}" for t in THRESHOLDS]
    yield f"| refused questions | {' | '.join(headings)} |"
    yield f"| --- |{' ---: |' * len(headings)}"
    for source in sources:
        for kind in dict.fromkeys(c.kind for c in responses.cases if c.source == source):
            of_this_kind = probabilities[responses.of_kind(source, kind)]
            yield _row(f"{source}, {kind}", [(of_this_kind < t).mean() for t in THRESHOLDS])
        weights = responses.weights * responses.of_source(source)
        rows = [weights * (probabilities < threshold) for threshold in THRESHOLDS]
        shares = [row @ (1 - responses.right) / max(row.sum(), 1e-9) for row in rows]
        yield _row(f"{source}, share of them without an answer", shares)


def _row(name: str, shares: Iterable[float]) -> str:
    return f"| {name} | {' | '.join(f'{share:.0%}' for share in shares)} |"
