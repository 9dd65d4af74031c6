"""Sample queries: texts and vectors of memories, compared between two databases."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.accounts.models import account_ids
from kmapp.providers.active_models import active_model
from kmapp.providers.models import EmbeddingModel
from kmapp.search.models import Vector
from kmapp.search.query_vector import QueryVector
from memory.models import MemoryEntry
from memory.models.entries import COLLECTION
from memory.retrieval.search import SearchRequest, search_with_vector

MAX_QUESTION_LENGTH = 300  # characters of a question


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleQuery:
    """The text of a memory and its stored vector, so that results do not depend on a model."""

    account_id: UUID
    expected: UUID
    text: str
    vector: tuple[float, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleResult:
    question: SampleQuery
    results: tuple[UUID, ...]

    @property
    def finds_itself(self) -> bool:
        return self.question.expected in self.results


def load_questions(number: int) -> list[SampleQuery]:
    """Return up to `number` questions, spread evenly over all accounts."""
    remaining = number
    results: list[SampleQuery] = []
    accounts = account_ids()
    for number_done, account_id in enumerate(accounts):
        account_questions = _load_account_questions(
            account_id, -(-remaining // (len(accounts) - number_done))
        )
        results += account_questions
        remaining -= len(account_questions)
    return results


def _load_account_questions(account_id: UUID, number: int) -> list[SampleQuery]:
    with acting(account_id):
        entries = MemoryEntry.objects.of(account_id).current().exclude(content="")
        vectors = Vector.objects.of(account_id).filter(
            collection=COLLECTION,
            part=0,
            model=active_model(),
            state=Vector.State.READY,
            object_id__in=entries.values("pk"),
        )
        # The order of digests is a random but repeatable sample.
        chosen = vectors.order_by("text_sha256", "object_id")[:number]
        vector_of = {row.object_id: tuple(row.embedding) for row in chosen}
        texts = entries.filter(pk__in=vector_of).order_by("pk").values_list("pk", "content")
        return [
            SampleQuery(
                account_id=account_id,
                expected=pk,
                text=text[:MAX_QUESTION_LENGTH],
                vector=vector_of[pk],
            )
            for pk, text in texts
        ]


def run_questions(questions: Sequence[SampleQuery], *, is_exhaustive: bool) -> list[SampleResult]:
    """Return the answers of the current database.

    Vector indexes are built at random, so two of them miss different memories. An exhaustive search
    compares every memory, so two databases with equal content return equal results.
    """
    model = active_model()
    return [_run_question(each, model, is_exhaustive=is_exhaustive) for each in questions]


def _run_question(
    question: SampleQuery, model: EmbeddingModel, *, is_exhaustive: bool
) -> SampleResult:
    request = SearchRequest(query=question.text, of_anyone=True, is_exhaustive=is_exhaustive)
    meaning = QueryVector.from_floats(model, question.vector)
    with acting(question.account_id):  # without a replica, which has the live data
        hits = search_with_vector(question.account_id, request, meaning)
    return SampleResult(question=question, results=tuple(hit.entry.pk for hit in hits))


def compute_overlap(exact: Sequence[SampleResult], indexed: Sequence[SampleResult]) -> float:
    """Return the share, from 0 to 1, of expected results that the index found."""
    pairs = [
        (set(exact_answer.results), set(quick_answer.results))
        for exact_answer, quick_answer in zip(exact, indexed, strict=True)
    ]
    total = sum(len(expected) for expected, _ in pairs)
    return sum(len(expected & results) for expected, results in pairs) / total if total else 1.0
