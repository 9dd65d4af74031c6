"""Share of the evidence that a prompt block of a given size contains."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from statistics import fmean
from typing import Any

from kmapp.search.candidate_ranking import rank_candidates
from kmapp.text import token_counter
from kmapp.text.terms import extract_terms
from memory.benchmarks.offline_retrieval import EvaluatedQuestion, Vectors, load_sample
from memory.models.settings import MAX_INJECTED
from memory.retrieval.text_budget import BlockEntry, build_block

BUDGETS = (300, 600, 1_200, 2_400)


def evidence_lines(file: Path, vectors: Vectors, number: int) -> Iterator[str]:
    """Return a Markdown table of `number` questions, distributed over the file.

    `evidence` is the share of relevant memories in the block, `text` the share of their distinct
    terms that are printed.
    """
    items, questions = load_sample(file, vectors, number)
    yield f"{file.name}: {len(questions):,} questions"
    yield ""
    yield "| tokens | evidence | text | memories |"
    yield "| ---: | ---: | ---: | ---: |"
    ranked = [[int(each) for each in rank_candidates(q.query, q.candidates).ids] for q in questions]
    for budget in BUDGETS:
        rows = [
            _measure(question, items[question.group], places[:MAX_INJECTED], budget)
            for question, places in zip(questions, ranked, strict=True)
        ]
        evidence, text, count = (fmean(column) for column in zip(*rows, strict=True))
        yield f"| {budget:,} | {evidence:.3f} | {text:.3f} | {count:.0f} |"


def _measure(
    question: EvaluatedQuestion, items: Sequence[dict[str, Any]], places: Sequence[int], budget: int
) -> tuple[float, float, int]:
    entries = [
        BlockEntry(
            text=items[place]["text"],
            date=datetime.fromisoformat(items[place]["observed_at"]),
            run=items[place]["run"],
            position=place,
        )
        for place in places
    ]
    built = build_block(
        entries, query=question.query.text, max_tokens=budget, count=token_counter.count_tokens
    )
    contained = {places[index] for index in built.places} & set(map(int, question.gold))
    printed = set(extract_terms(built.text))
    shares = [
        share_of_terms(set(extract_terms(items[place]["text"])), printed) for place in contained
    ]
    return (
        len(contained) / question.gold_count,
        sum(shares) / question.gold_count,
        len(built.places),
    )


def share_of_terms(own: set[str], printed: set[str]) -> float:
    """Return the share of the terms of a text that are printed."""
    return len(own & printed) / len(own) if own else 1.0
