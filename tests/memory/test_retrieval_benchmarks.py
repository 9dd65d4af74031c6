"""Evaluation of search on a small data set."""

import gzip
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kmapp.search.score_calibration import COMPARED_RESULTS, UNRELATED_SCORE, compute_following_mean
from memory.benchmarks import ablation_table
from memory.benchmarks.calibration import (
    ANSWERED,
    ELSEWHERE,
    REMOVED,
    Case,
    Observations,
    load_cases,
    render_constants,
    render_tables,
)
from memory.benchmarks.minimum_score import PAIRS, THRESHOLDS, minimum_score_lines
from memory.benchmarks.offline_retrieval import (
    EvaluatedQuestion,
    Vectors,
    load_questions,
    remove_context,
)
from memory.benchmarks.prompt_block_evidence import evidence_lines
from memory.benchmarks.weight_tuning import (
    QuestionFile,
    build_examples,
    evaluate,
    evaluate_held_out,
    list_training_examples,
)
from memory.retrieval.learning.fit import NAMES, fit_weights
from tests.fake_provider import vector_of

TURNS = [
    ("a1", "one", "Ann: where did you go in May?"),
    ("a2", "one", "Bob: to the lighthouse in Ostrey."),
    ("a3", "one", "Ann: how lovely."),
    ("b1", "two", "Ann: the kettle is broken."),
    ("b2", "two", "Bob: then we need a new kettle."),
]
QUERIES = [("Where did Bob go in May?", ["a2"]), ("What is broken?", ["b1"]), ("Mars?", ["gone"])]


class Counting:
    """An embedder that records its texts."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def __call__(self, texts: Sequence[str], kind: str) -> list[list[float]]:
        self.texts += texts
        return [vector_of(text, 64) for text in texts]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    def collection(name: str) -> dict[str, Any]:
        items = [
            {"id": pk, "run": run, "text": text, "observed_at": "2026-05-01T09:00:00+00:00"}
            for pk, run, text in TURNS
        ]
        queries = [{"text": text, "gold": gold} for text, gold in QUERIES]
        return {"id": name, "items": items, "queries": queries}

    path = tmp_path / "small.json.gz"
    with gzip.open(path, "wt", encoding="utf-8") as opened:
        json.dump({"collections": [collection("first"), collection("second")]}, opened)
    return path


@pytest.fixture
def questions(file: Path, tmp_path: Path) -> list[EvaluatedQuestion]:
    return load_questions(file, Vectors(tmp_path / "vectors.sqlite", Counting()))


def test_question_has_candidates_with_context(questions: list[EvaluatedQuestion]) -> None:
    first = questions[0]
    assert (len(questions), first.group, first.gold_count, len(first.gold)) == (6, "first", 1, 1)
    assert not questions[2].gold  # an answer that is not among the items counts as not found
    assert questions[2].gold_count == 1
    [right] = [each for each in first.candidates if each.id in first.gold]
    assert right.text.startswith("Bob: to the lighthouse")
    assert right.run == "one"
    assert len(right.neighbours) == 2  # what came before and after, of its own run
    assert right.context is not None
    opening = next(each for each in first.candidates if each.text.startswith("Ann: where"))
    assert opening.is_question
    assert opening.context is None  # nothing came before it
    assert right.bm25 > 0
    assert right.term_mask.bit_count() == 2  # "Bob", and "May" of its date
    assert all(not each.neighbours and not each.run for each in remove_context(first).candidates)


def test_vectors_are_computed_once(file: Path, tmp_path: Path) -> None:
    embed = Counting()
    saved = Vectors(tmp_path / "vectors.sqlite", embed)
    load_questions(file, saved)
    number = len(embed.texts)
    assert number == len(set(embed.texts))  # equal texts of two collections are one
    load_questions(file, saved)
    assert len(embed.texts) == number
    new = saved.load(["one", "two"], "query")
    assert np.allclose(np.linalg.norm(new, axis=1), 1, atol=1e-3)


def test_learned_weights_rank_answers_first(questions: list[EvaluatedQuestion]) -> None:
    training_examples = build_examples(questions)
    weights = fit_weights(training_examples)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)
    source = QuestionFile(
        "small", training_examples, build_examples(map(remove_context, questions))
    )
    figures = evaluate(training_examples, weights).as_dict()
    assert figures["hit@10"] == pytest.approx(2 / 3, abs=1e-3)  # two of six have no answer
    assert figures["MRR"] > 0.5
    assert list_training_examples([source]) == training_examples


def test_held_out_groups_are_not_learned_from(questions: list[EvaluatedQuestion]) -> None:
    training_examples = build_examples(questions)
    source = QuestionFile("small", training_examples, [])
    [first, second] = source.folds()
    assert [n for n in range(6) if first(n)] == [0, 1, 2]
    assert [n for n in range(6) if second(n)] == [3, 4, 5]
    assert {each.group for each in list_training_examples([source], source, first)} == {"second"}
    one_group = QuestionFile("one_group", training_examples[:3], [])
    assert [n for n in range(3) if one_group.folds()[0](n)] == [
        0,
        2,
    ]  # the questions of a single group alternate between the folds
    assert evaluate_held_out([source])["small"].as_dict().keys() == {
        "R@5",
        "R@10",
        "R@20",
        "hit@10",
        "MRR",
    }


def test_report_lists_every_signal_and_the_scale(questions: list[EvaluatedQuestion]) -> None:
    source = QuestionFile(
        "small", build_examples(questions), build_examples(map(remove_context, questions))
    )
    page = ablation_table.render_page([source], ["| the table |"])
    assert page.endswith("| the table |\n")
    assert "## small: 6 questions" in page
    for name in NAMES:
        assert f"| {name}: " in page
    assert "| 0.9 to 1.0 |" in page


def test_larger_prompt_blocks_contain_more_evidence(file: Path, tmp_path: Path) -> None:
    saved = Vectors(tmp_path / "vectors.sqlite", Counting())
    title, _, heading, _, *rows = evidence_lines(file, saved, number=3)
    assert title == "small.json.gz: 3 questions"
    assert heading == "| tokens | evidence | text | memories |"
    assert [row.split("|")[1].strip() for row in rows] == ["300", "600", "1,200", "2,400"]
    # Everything fits; no memory answers the last question.
    assert {row.split("|")[2].strip() for row in rows} == {"0.667"}
    assert {row.split("|")[4].strip() for row in rows} == {"5"}


def test_probabilities_are_fitted_on_questions_with_and_without_an_answer(
    file: Path, tmp_path: Path
) -> None:
    cases = load_cases(file, Vectors(tmp_path / "vectors.sqlite", Counting()))
    kinds = Counter(case.kind for case in cases)
    # The items of this file name no speakers, so no question is changed to the other speaker.
    assert kinds == {ANSWERED: 6, REMOVED: 6, ELSEWHERE: 6}
    assert {case.kind for case in cases if case.right.any()} == {ANSWERED}
    lines = [*render_tables(cases)]
    assert f"| small.json.gz, {REMOVED} |" in "".join(lines)
    fitted = [*render_constants(cases)]
    assert [line.split(" = ")[0] for line in fitted] == ["RESULT", "RESPONSE"]


def test_fitted_probabilities_are_the_shares_of_each_language() -> None:
    chance = np.random.default_rng(3)
    cases: list[Case] = []
    for share, slope in ((0.0, 8.0), (1.0, 16.0)):
        scores, levels = chance.uniform(size=4_000), chance.uniform(size=4_000)
        odds = slope * (scores - 0.5) + 4 * (scores - levels)
        right = chance.uniform(size=4_000) < 1 / (1 + np.exp(-odds))
        for score, level, is_right in zip(scores, levels, right, strict=True):
            one = (
                np.array([score, *[level] * COMPARED_RESULTS]),
                np.array([is_right, *[False] * COMPARED_RESULTS]),
            )
            cases.append(Case("file", ANSWERED, f"{len(cases) % 2}", share, *one))
    fitted = Observations.of_responses(cases).fit()
    assert fitted.english.slope == pytest.approx(8, rel=0.15)
    assert fitted.chinese.slope == pytest.approx(16, rel=0.15)
    assert fitted.chinese.distance == pytest.approx(4, rel=0.15)
    assert fitted.probability(0.5, 0.5, chinese=0) == pytest.approx(0.5, abs=0.05)
    assert fitted.probability(0.4, 0.4, chinese=1) < fitted.probability(0.4, 0.4, chinese=0)


def test_level_of_a_small_account_is_that_of_unrelated_memories() -> None:
    assert (
        compute_following_mean([0.9])
        == compute_following_mean([])
        == pytest.approx(UNRELATED_SCORE)
    )
    assert compute_following_mean([0.9, *[0.6] * 40]) == pytest.approx(0.6)


def test_calibration_covers_both_languages(tmp_path: Path) -> None:
    lines = [*minimum_score_lines(Vectors(tmp_path / "vectors.sqlite", Counting()))]
    assert lines[0].count("held out") == 2
    assert [line.split("|")[1].strip() for line in lines[2:]] == [
        f"{each:.2f}" for each in THRESHOLDS
    ]
    pairs = json.loads(PAIRS.read_text())
    assert len(pairs["en"]) == len(pairs["zh"]) == 40
