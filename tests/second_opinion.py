"""Recall and false flags of the detector on texts by other authors, by language.

`tests/data/second_opinion` holds injections from published packages, sentences of documentation and
texts composed for this purpose, with their sources. Half of the texts, chosen by a hash, is held
out: patterns were improved with the other half only. All texts composed by another hand are held
out, and have rows of their own. `python -m tests.second_opinion` prints the table of the docs;
`--misses` lists the errors in the part that patterns may be improved with.
"""

import json
from collections.abc import Sequence
from hashlib import sha256
from itertools import chain

from tests.injection_report import DATA, Figures, Sample, compute_figures, render_row, write_report

FOLDER = DATA / "second_opinion"
LANGUAGES = {
    "en": "English",
    "zh": "Chinese",
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "it": "Italian",
}
BY_ANOTHER_HAND = "composed by another hand"  # a source that no pattern was improved with
MIN_RECALL, MAX_FALSE_FLAG_RATE = 0.85, 0.03  # the target


def load_second(language: str, *, by_another_hand: bool = False) -> list[Sample]:
    """Return the texts in this language: those composed by another hand, or all others."""
    return [
        Sample(row["text"], hostile, by_another_hand or _is_held_out(row["text"]))
        for name, hostile in (("hostile", True), ("benign", False))
        for line in (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()
        if (row := json.loads(line))["lang"] == language
        and (row["source"] == BY_ANOTHER_HAND) == by_another_hand
    ]


def _is_held_out(text: str) -> bool:
    return sha256(text.encode()).digest()[0] % 2 == 0


def render_second() -> str:
    lines = [
        "| language | texts | hostile | flagged | benign | flagged | recall | precision"
        " | false flags | target |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    samples = {name: load_second(language) for language, name in LANGUAGES.items()}
    others = {
        name: load_second(language, by_another_hand=True) for language, name in LANGUAGES.items()
    }
    samples["English and Chinese"] = samples["English"] + samples["Chinese"]
    samples["all languages"] = list(chain.from_iterable(map(load_second, LANGUAGES)))
    others["all languages"] = list(chain.from_iterable(others.values()))
    for name, chosen in samples.items():
        parts = {
            "all": chosen,
            "held out": [each for each in chosen if each.held_out],
            "another hand": others.get(name, []),
        }
        for part, texts in parts.items():
            if texts:
                lines.append(_render_part(f"{name} | {part}", texts))
    return "\n".join(lines)


def _render_part(name: str, texts: Sequence[Sample]) -> str:
    figures = compute_figures(texts)
    return f"{render_row(name, figures)} {'met' if meets_target(figures) else 'missed'} |"


def meets_target(figures: Figures) -> bool:
    few_false_flags = figures.flagged_benign <= MAX_FALSE_FLAG_RATE * figures.benign
    return figures.recall >= MIN_RECALL and few_false_flags


if __name__ == "__main__":
    write_report(render_second, chain.from_iterable(map(load_second, LANGUAGES)))
