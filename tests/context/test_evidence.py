"""Evidence in retrieved texts and in loads of tool results, by their limit in tokens."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from context.benchmarks import passage_recall
from context.benchmarks.passage_recall import CHINESE, ENGLISH, build_result, result_lines
from context.benchmarks.retrieved_evidence import document_lines, memory_lines
from kmapp.accounts.models import Account
from knowledge.benchmarks.search_quality import Question
from memory.benchmarks.offline_retrieval import Vectors
from tests.agent import Agent
from tests.fake_provider import vector_of
from tests.knowledge.builders import deliver


def cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.strip("|").split("|")]


def test_more_tokens_contain_more_memories(tmp_path: Path) -> None:
    items = [
        {
            "id": str(number),
            "run": "one",
            "text": f"Crate {number} holds {number} copper kettles. " + "It is very heavy. " * 9,
            "observed_at": "2026-05-01T09:00:00+00:00",
        }
        for number in range(20)
    ]
    queries = [{"text": f"What does crate {n} hold?", "gold": [str(n)]} for n in (3, 7)]
    file = tmp_path / "small.json.gz"
    file.write_bytes(
        gzip.compress(
            json.dumps({"collections": [{"id": "c", "items": items, "queries": queries}]}).encode()
        )
    )

    def embed(texts: Sequence[str], kind: str) -> list[list[float]]:
        return [vector_of(text, 64) for text in texts]

    title, *lines = memory_lines(file, Vectors(tmp_path / "v", embed), number=2)
    assert title == "small.json.gz: 2 questions"
    tables = [[cells(row) for row in lines[start : start + 4]] for start in (3, 10)]
    for rows in tables:
        assert [row[0] for row in rows] == ["300", "600", "1,200", "2,400"]
        assert {row[1] for row in rows} == {"1.000"}  # the best memory answers
        numbers = [int(row[3]) for row in rows]
        assert numbers == sorted(numbers)
        assert numbers[0] < numbers[-1] == len(items)
    with_ids, with_numbers = tables
    assert sum(int(row[3]) for row in with_numbers) > sum(int(row[3]) for row in with_ids)


@pytest.mark.django_db
def test_answering_passages_and_phrases_are_counted(acme: Account) -> None:
    deliver(acme, {"kiln.md": "# Kiln\n\nThe kiln reaches 1,280 degrees.", "tea.md": "# Tea"})
    question = Question(
        kind="direct",
        text="How hot is the kiln?",
        answered_in=["kiln.md"],
        phrases=["1,280 Degrees"],
    )
    other = Question(kind="direct", text="Who makes tea?", answered_in=["none.md"], phrases=["x"])
    title, _, _, _, *rows = document_lines(acme.pk, "docs", [question, other])
    assert title == "docs: 2 questions"
    assert [cells(row)[1:3] for row in rows] == [["0.500", "0.500"]] * 4


@pytest.mark.parametrize("language", [ENGLISH, CHINESE])
def test_generated_results_contain_each_fact_once(language: passage_recall.Language) -> None:
    text, questions = build_result(language, seed=1)
    assert len(text) == pytest.approx(50_000, rel=0.05)
    assert len({question for question, _ in questions}) == passage_recall.FACTS
    assert {text.count(fact) for _, fact in questions} == {1}


@pytest.mark.django_db
def test_loads_within_a_limit_contain_planted_facts(
    agent: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passage_recall, "RESULTS", 1)
    monkeypatch.setattr(passage_recall, "RESULT_LENGTH", 20_000)
    monkeypatch.setattr(passage_recall, "WAIT_SECONDS", 0)

    def ask(method: str, path: str, body: Any) -> Any:
        return agent.post(path, body) if method == "POST" else agent.get(path, **body)

    title, _, _, _, *rows = result_lines(ask, "c-1")
    assert title == "20 questions"
    assert [cells(row)[0] for row in rows] == ["300", "600", "1,200", "2,400"]
    for column in (1, 2):  # English, Chinese
        shares = [float(cells(row)[column]) for row in rows]
        assert shares == sorted(shares)
        assert shares[0] >= 0.5
        assert shares[-1] >= 0.9
