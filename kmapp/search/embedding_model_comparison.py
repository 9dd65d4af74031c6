"""Comparison of search results under two embedding models, and its report."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.providers.embedding import OpenAIEmbedder
from kmapp.providers.models import EmbeddingModel
from kmapp.search.allowed_objects import AllowedObjects, Collection
from kmapp.search.embedding_model_switch import Coverage
from kmapp.search.embedding_sources import EmbeddingSource
from kmapp.search.nearest_search import find_nearest
from kmapp.search.query_vector import QueryVector

COMPARED_RESULTS = 10
MAX_EXAMPLES = 5
MAX_TEXT_WIDTH = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleQuestion:
    """A query; `expected` is the object that its text was taken from, if any."""

    text: str
    expected: UUID | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAnswers:
    """The answers of two models to one question: objects, nearest first."""

    question: ExampleQuestion
    before: Sequence[UUID]
    after: Sequence[UUID]

    @property
    def overlap(self) -> float:
        longer = max(len(self.before), len(self.after))
        return len(set(self.before) & set(self.after)) / longer if longer else 1.0

    @property
    def moves(self) -> list[int]:
        """Return by how many places each shared result moved."""
        places = {answer: place for place, answer in enumerate(self.after)}
        return [abs(place - places[a]) for place, a in enumerate(self.before) if a in places]


def compare_models(
    source: EmbeddingSource,
    account_id: UUID,
    models: tuple[EmbeddingModel, EmbeddingModel],
    questions: Sequence[ExampleQuestion],
) -> list[ModelAnswers]:
    """Return the answers to each question, except where the account has nothing to find."""
    before, after = (_find_answers(source, account_id, model, questions) for model in models)
    return [
        ModelAnswers(question=question, before=old, after=new)
        for question, old, new in zip(questions, before, after, strict=True)
        if old or new or question.expected
    ]


def load_example_questions(
    source: EmbeddingSource, account_id: UUID, number: int
) -> list[ExampleQuestion]:
    """Return questions from the account's texts, each of which should find its own object."""
    with acting(account_id):
        texts = source.examples(account_id, number)
    return [ExampleQuestion(text=text, expected=expected) for expected, text in texts.items()]


def _find_answers(
    source: EmbeddingSource,
    account_id: UUID,
    model: EmbeddingModel,
    questions: Sequence[ExampleQuestion],
) -> list[list[UUID]]:
    texts = [question.text for question in questions]
    collection = Collection(account_id=account_id, name=source.collections[0])
    answers = []
    for vector in OpenAIEmbedder.for_passages(model).embed(texts, kind="query"):
        with acting(account_id):
            within = AllowedObjects.from_queryset(source.findable(account_id))
            # A long text has several parts, of which the best counts.
            results = find_nearest(
                collection,
                QueryVector.from_floats(model, vector),
                within=within,
                limit=2 * COMPARED_RESULTS,
            )
        answers.append([UUID(each) for each in results][:COMPARED_RESULTS])
    return answers


def render_report(
    models: Sequence[EmbeddingModel], covered: Sequence[Coverage], answers: Sequence[ModelAnswers]
) -> str:
    lines = [
        f"{model} ({model.state}) has vectors of {each.percent:.1f} % of {each.texts:,} texts."
        for model, each in zip(models, covered, strict=True)
    ]
    if not answers:
        return "\n".join([*lines, "No queries: pass --query, or write memories first."])
    moves = [move for answer in answers for move in answer.moves]
    lines += [
        "",
        f"Queries                              {len(answers):,}",
        f"Results of the first {COMPARED_RESULTS} in common       "
        f"{fmean(a.overlap for a in answers):.0%}",
        f"Places that a shared answer moved    {fmean(moves) if moves else 0:.1f}",
    ]
    if labelled := [answer for answer in answers if answer.question.expected]:
        shares = (
            sum(a.question.expected in a.before for a in labelled),
            sum(a.question.expected in a.after for a in labelled),
        )
        lines += [
            f"{model} finds the source text of a query: {number} of {len(labelled)}"
            for model, number in zip(models, shares, strict=True)
        ]
    changed = sorted(answers, key=lambda answer: answer.overlap)[:MAX_EXAMPLES]
    lines += ["", "Least agreement:"]
    lines += [f"  {a.overlap:4.0%}  {_clip_text(a.question.text)}" for a in changed]
    return "\n".join(lines)


def _clip_text(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= MAX_TEXT_WIDTH else f"{line[:MAX_TEXT_WIDTH]}…"
