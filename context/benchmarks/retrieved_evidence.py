"""Share of the evidence among the retrieved texts of a call, by their limit in tokens."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from statistics import fmean
from typing import Any
from uuid import UUID

from context.assembly.build_snippets import knowledge_snippet
from context.assembly.prompt_inputs import Snippet
from context.assembly.snippet_excerpts import select_snippets
from kmapp.search.candidate_ranking import rank_candidates
from kmapp.search.variants import DEFAULT_VARIANT
from kmapp.text.terms import extract_terms
from knowledge.benchmarks.search_quality import Question
from knowledge.retrieval.search import KnowledgeSearch, search
from memory.benchmarks.offline_retrieval import EvaluatedQuestion, Vectors, load_sample
from memory.benchmarks.prompt_block_evidence import BUDGETS, share_of_terms

MAX_MEMORIES = 50
MAX_PASSAGES = 20
ID = "01900000-0000-7000-8000-{:012}"


def memory_lines(file: Path, vectors: Vectors, number: int) -> Iterator[str]:
    """Yield a table of `number` questions, distributed over the file.

    Its columns are those of `memory.benchmarks.prompt_block_evidence`.
    """
    items, questions = load_sample(file, vectors, number)
    yield f"{file.name}: {len(questions):,} questions"
    for label, title in (("", "IDs"), ("{}", "numbers (short_ids)")):
        yield ""
        yield f"| tokens, with {title} | evidence | text | memories |"
        yield "| ---: | ---: | ---: | ---: |"
        for budget in BUDGETS:
            rows = [_measure_memories(each, items[each.group], budget, label) for each in questions]
            evidence, text, count = (fmean(column) for column in zip(*rows, strict=True))
            yield f"| {budget:,} | {evidence:.3f} | {text:.3f} | {count:.0f} |"


def _measure_memories(
    question: EvaluatedQuestion, items: Sequence[dict[str, Any]], budget: int, label: str
) -> tuple[float, float, int]:
    ranked = islice(rank_candidates(question.query, question.candidates), MAX_MEMORIES)
    candidates = [
        _memory(items[int(each.id)]["text"], int(each.id), each.score, label.format(rank))
        for rank, each in enumerate(ranked, start=1)
    ]
    selected = select_snippets(candidates, question.query.text, budget)
    relevant = {ID.format(int(key)) for key in question.gold}
    printed = set(extract_terms(" ".join(each.text for each in selected)))
    whole = {each.ref: each.text for each in candidates}
    shares = [
        share_of_terms(set(extract_terms(whole[each.ref])), printed)
        for each in selected
        if each.ref in relevant
    ]
    number = question.gold_count
    return len(shares) / number, sum(shares) / number, len(selected)


def _memory(text: str, number: int, score: float, label: str) -> Snippet:
    return Snippet(
        source="memory",
        ref=ID.format(number),
        text=text,
        score=score,
        trust="semi_trusted",
        why={},
        citation={},
        label=label,
    )


def document_lines(account_id: UUID, source: str, questions: Sequence[Question]) -> Iterator[str]:
    """Yield a table of the questions about a source. Opens `acting` itself.

    `evidence` is the share of questions with a passage of an answering file, `phrase` the share of
    those with a phrase of the answer in the text.
    """
    searches = [
        (question, _search_documents(account_id, source, question)) for question in questions
    ]
    yield f"{source}: {len(questions):,} questions"
    yield ""
    yield "| tokens | evidence | phrase | passages |"
    yield "| ---: | ---: | ---: | ---: |"
    for budget in BUDGETS:
        rows = [_measure_documents(question, passages, budget) for question, passages in searches]
        evidence, phrase, count = (fmean(column) for column in zip(*rows, strict=True))
        yield f"| {budget:,} | {evidence:.3f} | {phrase:.3f} | {count:.0f} |"


def _search_documents(
    account_id: UUID, source: str, question: Question
) -> list[tuple[str, Snippet]]:
    """Return the best passages, each with the file of its document."""
    request = KnowledgeSearch(
        query=question.text, limit=MAX_PASSAGES, sources=(source,), variant=DEFAULT_VARIANT
    )
    return [
        (each.chunks[0].document.ref, knowledge_snippet(each, DEFAULT_VARIANT))
        for each in search(account_id, request).snippets
    ]


def _measure_documents(
    question: Question, passages: Sequence[tuple[str, Snippet]], budget: int
) -> tuple[float, float, int]:
    files = {snippet.ref: file for file, snippet in passages}
    selected = select_snippets([snippet for _, snippet in passages], question.text, budget)
    answering = [each.text for each in selected if files[each.ref] in question.answered_in]
    return bool(answering), contains_any(answering, question.phrases), len(selected)


def contains_any(texts: Iterable[str], phrases: Collection[str]) -> bool:
    """Return whether a text contains one of the phrases, whatever its spaces and case are."""
    normalized = [" ".join(text.split()).casefold() for text in texts]
    return any(phrase.casefold() in text for text in normalized for phrase in phrases)
