"""The comparison of two embedding models as text."""

from collections.abc import Sequence
from statistics import fmean

from kmapp.providers.models import EmbeddingModel
from kmapp.search.model_comparison import TOP, Compared
from kmapp.search.model_switch import Coverage

MAX_EXAMPLES = 5
WIDTH = 60


def render_report(
    models: Sequence[EmbeddingModel], covered: Sequence[Coverage], answers: Sequence[Compared]
) -> str:
    lines = [
        f"{model} ({model.state}) has vectors of {each.percent:.1f} % of {each.texts:,} texts."
        for model, each in zip(models, covered, strict=True)
    ]
    if not answers:
        return "\n".join([*lines, "There is nothing to ask: give queries, or write memories."])
    moves = [move for answer in answers for move in answer.moves]
    lines += [
        "",
        f"Questions asked                      {len(answers):,}",
        f"Answers of the first {TOP} that both give  {fmean(a.overlap for a in answers):.0%}",
        f"Places that a shared answer moved    {fmean(moves) if moves else 0:.1f}",
    ]
    if labelled := [answer for answer in answers if answer.question.expected]:
        shares = (
            sum(a.question.expected in a.before for a in labelled),
            sum(a.question.expected in a.after for a in labelled),
        )
        lines += [
            f"{model} finds the text that a question was taken from: {number} of {len(labelled)}"
            for model, number in zip(models, shares, strict=True)
        ]
    changed = sorted(answers, key=lambda answer: answer.overlap)[:MAX_EXAMPLES]
    lines += ["", "Least agreement:"]
    lines += [f"  {a.overlap:4.0%}  {_clipped(a.question.text)}" for a in changed]
    return "\n".join(lines)


def _clipped(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= WIDTH else f"{line[:WIDTH]}…"
