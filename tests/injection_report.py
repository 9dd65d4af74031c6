"""Recall and precision of the detector of injected instructions.

`tests/data` has 200 hostile and 400 benign texts, English and Chinese, one per line, all invented.
A third of them, chosen by a hash, is held out: patterns are tuned on the rest only, and the promise
is about the held-out third. `python -m tests.injection_report` prints the table of the docs;
`--misses` lists the errors in the part that patterns may be tuned on.
"""

import base64
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from kmapp.security.prompt_injection import detect_flags

DATA = Path(__file__).parent / "data"
_ESCAPE = re.compile(r"\\n|\\u([0-9a-f]{4})|\\U([0-9a-f]{8})|\{(b64|tags):([^}]*)\}")


@dataclass(frozen=True, slots=True)
class Sample:
    """One text, whether it is hostile, and whether it is held out from tuning."""

    text: str
    hostile: bool
    held_out: bool


@dataclass(frozen=True, slots=True)
class Figures:
    """Numbers of hostile and benign texts, and of those that were flagged."""

    hostile: int
    flagged_hostile: int
    benign: int
    flagged_benign: int

    @property
    def recall(self) -> float:
        return self.flagged_hostile / self.hostile

    @property
    def precision(self) -> float:
        return self.flagged_hostile / (self.flagged_hostile + self.flagged_benign)

    @property
    def false_flag_rate(self) -> float:
        return self.flagged_benign / self.benign


def load_samples() -> list[Sample]:
    return [*_load("hostile.txt", hostile=True), *_load("benign.txt", hostile=False)]


def _load(name: str, *, hostile: bool) -> Iterator[Sample]:
    for line in (DATA / name).read_text().splitlines():
        held_out = sha256(line.encode()).digest()[0] % 3 == 0
        yield Sample(_ESCAPE.sub(_unescape, line), hostile, held_out)


def load_texts(name: str) -> list[str]:
    return [_ESCAPE.sub(_unescape, line) for line in (DATA / name).read_text().splitlines()]


def _unescape(match: re.Match[str]) -> str:
    short, long, encoding, text = match.groups()
    if encoding == "b64":
        return base64.b64encode(text.encode()).decode()
    if encoding == "tags":  # invisible ASCII
        return "".join(chr(0xE0000 + ord(char)) for char in text)
    return chr(int(short or long, 16)) if short or long else "\n"


def compute_figures(samples: Sequence[Sample]) -> Figures:
    hostile = [bool(detect_flags(each.text)) for each in samples if each.hostile]
    benign = [bool(detect_flags(each.text)) for each in samples if not each.hostile]
    return Figures(len(hostile), sum(hostile), len(benign), sum(benign))


def render_table() -> str:
    lines = [
        "| texts | hostile | flagged | benign | flagged | recall | precision | false flags |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, held_out in (("tuned on", False), ("held out", True)):
        chosen = [each for each in load_samples() if each.held_out == held_out]
        lines.append(render_row(name, compute_figures(chosen)))
    return "\n".join(lines)


def render_row(name: str, row: Figures) -> str:
    flagged = row.flagged_hostile + row.flagged_benign
    recall = f"{100 * row.recall:.1f} %" if row.hostile else "-"
    precision = f"{100 * row.precision:.1f} %" if flagged else "-"
    false_flags = f"{100 * row.false_flag_rate:.1f} %" if row.benign else "-"
    numbers = f"{row.hostile} | {row.flagged_hostile} | {row.benign} | {row.flagged_benign}"
    return f"| {name} | {numbers} | {recall} | {precision} | {false_flags} |"


def list_misses(samples: Iterable[Sample]) -> Iterator[str]:
    """Yield the wrongly judged texts of the part that patterns may be tuned on."""
    for sample in samples:
        flags = detect_flags(sample.text)
        if not sample.held_out and bool(flags) != sample.hostile:
            yield f"{'missed' if sample.hostile else 'false flag'} {flags} {sample.text!r}"


def write_report(table: Callable[[], str], samples: Iterable[Sample]) -> None:
    lines = list_misses(samples) if "--misses" in sys.argv else [table()]
    sys.stdout.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    write_report(render_table, load_samples())
