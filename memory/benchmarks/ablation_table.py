"""Ablation table of search signals as Markdown."""

from collections.abc import Mapping, Sequence

import numpy as np

from kmapp.search.fusion import LEARNED
from memory.benchmarks.weight_tuning import (
    NAMES,
    Example,
    Figures,
    Matrix,
    Source,
    held_out,
    with_weights,
)

COMMAND = "make bench-retrieval"
COLUMNS = ("R@5", "R@10", "R@20", "hit@10", "MRR")
STEPS = [round(0.1 * step, 1) for step in range(10)]
LEAST = 20  # candidates in a step of the scale of which something can be said
SIGNALS: Mapping[str, str] = {
    "dense": "likeness of the text's vector",
    "context": "likeness of the vector of the text with its predecessor",
    "lexical": "BM25",
    "covered": "share of the question's terms, by idf, that the text holds",
    "window": "the same of the text with its neighbours, two steps either way",
    "near": "the neighbours' own evidence",
    "far": "that of entries one step further",
    "run": "the best of the run",
    "opening": "begins with a word of the question (mostly the speaker)",
    "statement": "does not ask",
    "substance": "length, up to a point",
}


def page(sources: Sequence[Source]) -> str:
    """Every table, with where it comes from."""
    weights = np.array([LEARNED[name] for name in NAMES])
    lines = [
        "# What search finds",
        "",
        f"Made by `{COMMAND} DATA=…` with the weights of `kmapp/search/weights.json`, which",
        "`make tune DATA=…` learned. R@k is the share of the right memories among the first k,",
        "hit@10 whether any is among the first ten. *Held out*: each conversation judged by",
        "weights learned from all others; a file of single texts is halved.",
    ]
    unseen = held_out(sources)
    for source in sources:
        lines += [
            "",
            f"## {source.name}: {len(source.example_list):,} questions",
            "",
            *_head("ranking"),
        ]
        lines.append(_row("as shipped", with_weights(source, weights)))
        lines.append(_row("held out", unseen[source.name]))
        alone = Source(source.name, source.lone, [])
        lines.append(_row("as shipped, every memory alone", with_weights(alone, weights)))
        lines += ["", "Left out, one at a time, the others as shipped:", "", *_head("without")]
        lines += [
            _row(f"{name}: {SIGNALS[name]}", _without(source, weights, name)) for name in NAMES
        ]
    lines += ["", "## What a score says", "", *_scale(sources)]
    return "\n".join(lines) + "\n"


def _head(name: str) -> list[str]:
    return [f"| {name} | {' | '.join(COLUMNS)} |", f"| --- |{' ---: |' * len(COLUMNS)}"]


def _row(name: str, figures: Figures) -> str:
    shares = figures.named_shares()
    return f"| {name} | {' | '.join(f'{shares[column]:.3f}' for column in COLUMNS)} |"


def _without(source: Source, weights: Matrix, name: str) -> Figures:
    return with_weights(source, weights * np.array([each != name for each in NAMES]))


def _scale(sources: Sequence[Source]) -> list[str]:
    """Of candidates with a score in each step, how many are right: the same in every language."""
    lines = [
        "Of all candidates with such a score, the share that are right answers, and in brackets",
        "the share of all right answers that score at least as much: what `min_score` would keep.",
        "",
        f"| score | {' | '.join(source.name for source in sources)} |",
        f"| --- |{' ---: |' * len(sources)}",
    ]
    scored = [_scored(source.example_list) for source in sources]
    for low in STEPS:
        cells = []
        for score, right in scored:
            here = right[(score >= low) & (score < low + 0.1)]
            recall_above = right[score >= low].sum() / right.sum()
            share = f"{here.mean():.2f}" if len(here) >= LEAST else "–"
            cells.append(f"{share} ({recall_above:.2f})")
        lines.append(f"| {low:.1f} to {low + 0.1:.1f} | {' | '.join(cells)} |")
    return lines


def _scored(example_list: Sequence[Example]) -> tuple[Matrix, Matrix]:
    score = np.concatenate([each.scores for each in example_list])
    return score, np.concatenate([each.right for each in example_list]).astype(float)
