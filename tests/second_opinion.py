"""Recall and false flags of the detector on texts by other authors, by language.

`tests/data/second_opinion` holds injections from published packages and sentences of documentation,
with their sources. Half of the texts, chosen by a hash, is held out: patterns were improved with
the other half only. `python -m tests.second_opinion` prints the table of the docs; `--misses` lists
the errors in that other half.
"""

import json
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
MIN_RECALL, MAX_FALSE_FLAG_RATE = 0.85, 0.03  # the target


def load_second(language: str) -> list[Sample]:
    """Return the texts in this language."""
    return [
        Sample(row["text"], hostile, sha256(row["text"].encode()).digest()[0] % 2 == 0)
        for name, hostile in (("hostile", True), ("benign", False))
        for line in (FOLDER / f"{name}.jsonl").read_text("utf-8").splitlines()
        if (row := json.loads(line))["lang"] == language
    ]


def render_second() -> str:
    lines = [
        "| language | texts | hostile | flagged | benign | flagged | recall | precision"
        " | false flags | target |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    samples = {name: load_second(language) for language, name in LANGUAGES.items()}
    pooled = {"English and Chinese": samples["English"] + samples["Chinese"]}
    pooled["all languages"] = list(chain.from_iterable(samples.values()))
    for name, chosen in (samples | pooled).items():
        held_out = [each for each in chosen if each.held_out]
        for part, figures in (
            ("all", compute_figures(chosen)),
            ("held out", compute_figures(held_out)),
        ):
            verdict = "met" if meets_target(figures) else "missed"
            lines.append(f"{render_row(f'{name} | {part}', figures)} {verdict} |")
    return "\n".join(lines)


def meets_target(figures: Figures) -> bool:
    few_false_flags = figures.flagged_benign <= MAX_FALSE_FLAG_RATE * figures.benign
    return figures.recall >= MIN_RECALL and few_false_flags


if __name__ == "__main__":  # misses only in the languages that have patterns
    write_report(render_second, (*load_second("en"), *load_second("zh")))
