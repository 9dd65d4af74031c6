"""Comparison of search results under two embedding models."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.providers.embedding import OpenAIEmbedder
from kmapp.providers.models import EmbeddingModel
from kmapp.search.queries import Collection, Meaning, Within, nearest
from kmapp.search.registry import Source

TOP = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """Something to ask; `wanted` is the object that it was taken from, if it was."""

    text: str
    expected: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The answers of two models to one question: objects, nearest first."""

    question: Question
    before: Sequence[UUID]
    after: Sequence[UUID]

    @property
    def shared(self) -> int:
        return len(set(self.before) & set(self.after))

    @property
    def overlap(self) -> float:
        """The share of the answers that both give."""
        most = max(len(self.before), len(self.after))
        return self.shared / most if most else 1.0

    @property
    def moves(self) -> list[int]:
        """By how many places each shared answer moved."""
        now = {example_texts: place for place, example_texts in enumerate(self.after)}
        return [abs(place - now[f]) for place, f in enumerate(self.before) if f in now]


def compare(
    source: Source,
    account_id: UUID,
    models: tuple[EmbeddingModel, EmbeddingModel],
    questions: Sequence[Question],
) -> list[Compared]:
    """Ask both models, and let each search its own vectors."""
    before, after = (_answers(source, account_id, model, questions) for model in models)
    return [
        Compared(question=question, before=old, after=new)
        for question, old, new in zip(questions, before, after, strict=True)
    ]


def examples(source: Source, account_id: UUID, number: int) -> list[Question]:
    """Questions made of what the account holds: each should find the object it was taken from."""
    with acting(account_id):
        example_texts: Mapping[UUID, str] = source.examples(account_id, number)
    return [Question(text=text, expected=expected) for expected, text in example_texts.items()]


def _answers(
    source: Source, account_id: UUID, model: EmbeddingModel, questions: Sequence[Question]
) -> list[list[UUID]]:
    texts = [question.text for question in questions]
    vectors = OpenAIEmbedder.for_passages(model).embed(texts, kind="query")
    collection = Collection(account_id=account_id, name=source.collections[0])
    answers = []
    for vector in vectors:
        with acting(account_id):
            example_texts = nearest(
                collection,
                Meaning.of(model, vector),
                within=Within.of(source.findable(account_id)),
                limit=2 * TOP,  # a long text has several parts, of which the best counts
            )
        answers.append([UUID(each) for each in example_texts][:TOP])
    return answers
