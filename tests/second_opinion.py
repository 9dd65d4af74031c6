"""Recall and false flags of the detector on texts by other authors, by language.

`tests/data/second_opinion` holds injections from published packages and sentences of documentation,
with their sources. Half of the texts, chosen by a hash, is held out: patterns were improved with
the other half only. `python -m tests.second_opinion` prints the table of the docs; `--misses` lists
the errors in the open half.
"""

import json
import sys
from collections.abc import Iterator
from hashlib import sha256

from kmapp.security.prompt_injection import detect_flags
from tests.injection_report import DATA, Sample, compute_figures

FOLDER = DATA / "second_opinion"
LANGUAGES = {"en": "English", "zh": "Chinese", "other": "German, French, Spanish, Italian"}


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
        " | false flags |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for language, name in LANGUAGES.items():
        samples = load_second(language)
        parts = {"all": samples, "held out": [each for each in samples if each.held_out]}
        for part, chosen in parts.items():
            row = compute_figures(chosen)
            numbers = f"{row.hostile} | {row.flagged_hostile} | {row.benign} | {row.flagged_benign}"
            flagged = row.flagged_hostile + row.flagged_benign
            precision = f"{100 * row.precision:.1f} %" if flagged else "-"
            shares = f"{100 * row.recall:.1f} % | {precision} | {100 * row.false_flag_rate:.1f} %"
            lines.append(f"| {name} | {part} | {numbers} | {shares} |")
    return "\n".join(lines)


def list_misses() -> Iterator[str]:
    """Yield the wrongly judged texts of the open half, in the languages of the patterns."""
    for sample in (*load_second("en"), *load_second("zh")):
        flags = detect_flags(sample.text)
        if not sample.held_out and bool(flags) != sample.hostile:
            yield f"{'missed' if sample.hostile else 'false flag'} {flags} {sample.text!r}"


if __name__ == "__main__":
    sys.stdout.write(
        "\n".join(list_misses() if "--misses" in sys.argv else [render_second()]) + "\n"
    )
