"""Share of queries that one of the first documents answers."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from kmapp.search.variants import Variant
from knowledge.retrieval.search import KnowledgeSearch, search

QUESTIONS = Path(__file__).with_name("questions.json")
RANKS = 5  # documents in which an answer counts
SNIPPETS = 30  # some are of the same document


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    kind: str
    text: str
    answered_in: Sequence[str]  # files, each of which answers it
    phrases: Sequence[str] = ()  # of answers, each in at least one of the files


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    question: Question
    refs: Sequence[str]  # of the matching documents, best first

    @property
    def rank(self) -> int | None:
        """Return the rank of the first correct document, from 1."""
        ranks = (i for i, ref in enumerate(self.refs, 1) if ref in self.question.answered_in)
        return next(ranks, None)


def load_questions(file: Path) -> list[Question]:
    data = json.loads(file.read_text(encoding="utf-8"))
    return [Question(**each) for each in data["questions"]]


def run_questions(
    account_id: UUID, source: str, questions: Sequence[Question], variant: Variant
) -> Iterator[Answer]:
    """Search for each question as an agent would. Opens `acting` itself."""
    for question in questions:
        request = KnowledgeSearch(
            query=question.text, limit=SNIPPETS, sources=(source,), variant=variant
        )
        snippets = search(account_id, request).snippets
        refs = dict.fromkeys(each.chunks[0].document.ref for each in snippets)
        yield Answer(question=question, refs=list(refs))


def compute_recall(answers: Sequence[Answer]) -> Mapping[str, float]:
    """Return the share of queries with a correct document in the first results, by kind."""
    kinds: dict[str, list[bool]] = defaultdict(list)
    for each in answers:
        right = each.rank is not None and each.rank <= RANKS
        kinds["all"].append(right)
        kinds[each.question.kind].append(right)
    return {kind: sum(right) / len(right) for kind, right in kinds.items()}
