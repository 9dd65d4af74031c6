"""Share of queries that one of the first documents answers."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

from kmapp.search.variants import Variant
from knowledge.retrieval.search import Search, search

QUESTIONS = Path(__file__).with_name("questions.json")
FIRST = 5  # documents that are looked at
SNIPPETS = 30  # of which some share a document


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked, and the files that answer it: one of them is enough."""

    kind: str
    text: str
    answered_in: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The documents that were found, best first, without repetition."""

    question: Question
    refs: Sequence[str]

    @property
    def rank(self) -> int | None:
        """The place of the first right document, from 1."""
        right = (i for i, ref in enumerate(self.refs, 1) if ref in self.question.answered_in)
        return next(right, None)


def questions(file: Path) -> list[Question]:
    data = json.loads(file.read_text(encoding="utf-8"))
    return [Question(**each) for each in data["questions"]]


def run_question(
    account_id: UUID, source: str, all_of_them: Sequence[Question], variant: Variant
) -> Iterator[Answer]:
    """Ask each as an agent would. Opens `acting` itself."""
    for question in all_of_them:
        request = Search(query=question.text, limit=SNIPPETS, sources=(source,), variant=variant)
        snippets = search(account_id, request).snippets
        refs = dict.fromkeys(each.chunks[0].document.ref for each in snippets)
        yield Answer(question=question, refs=list(refs))


def recall(answers: Sequence[Answer]) -> Mapping[str, float]:
    """Return the share of queries with a correct document in the first results, by kind."""
    kinds: dict[str, list[bool]] = defaultdict(list)
    for each in answers:
        right = each.rank is not None and each.rank <= FIRST
        kinds["all"].append(right)
        kinds[each.question.kind].append(right)
    return {kind: sum(right) / len(right) for kind, right in kinds.items()}
