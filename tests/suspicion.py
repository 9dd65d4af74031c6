"""How well text that speaks to the model is told from text that only sounds like it.

`tests/data` has 200 hostile and 400 benign texts, English and Chinese, one a line, all invented.
A third of them, chosen by a hash, is held out: patterns are tuned on the rest only, and what is
promised is what holds on the third. `python -m tests.suspicion` prints the table of the docs;
`--misses` what goes wrong in the part that may be tuned on.
"""

import base64
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from kmapp.redaction import flags

DATA = Path(__file__).parent / "data"
_ESCAPE = re.compile(r"\\n|\\u([0-9a-f]{4})|\\U([0-9a-f]{8})|\{(b64|tags):([^}]*)\}")


@dataclass(frozen=True, slots=True)
class Sample:
    """One text, whether it is hostile, and whether it is kept from the tuning."""

    text: str
    hostile: bool
    held_out: bool


def samples() -> list[Sample]:
    return [*_read("hostile.txt", hostile=True), *_read("benign.txt", hostile=False)]


def _read(name: str, *, hostile: bool) -> Iterator[Sample]:
    for line in (DATA / name).read_text().splitlines():
        held_out = sha256(line.encode()).digest()[0] % 3 == 0
        yield Sample(_ESCAPE.sub(_unescaped, line), hostile, held_out)


def _unescaped(found: re.Match[str]) -> str:
    short, long, how, text = found.groups()
    if how == "b64":
        return base64.b64encode(text.encode()).decode()
    if how == "tags":  # ASCII that nobody sees
        return "".join(chr(0xE0000 + ord(char)) for char in text)
    return chr(int(short or long, 16)) if short or long else "\n"


@dataclass(frozen=True, slots=True)
class Measured:
    """How many of what is hostile and of what is not were flagged."""

    hostile: int
    caught: int
    benign: int
    accused: int

    @property
    def recall(self) -> float:
        return self.caught / self.hostile

    @property
    def precision(self) -> float:
        return self.caught / (self.caught + self.accused)

    @property
    def false_flags(self) -> float:
        return self.accused / self.benign


def measured(texts: Sequence[Sample]) -> Measured:
    flagged = [(sample.hostile, bool(flags(sample.text))) for sample in texts]
    return Measured(
        hostile=sum(hostile for hostile, _ in flagged),
        caught=sum(hostile and flag for hostile, flag in flagged),
        benign=sum(not hostile for hostile, _ in flagged),
        accused=sum(flag and not hostile for hostile, flag in flagged),
    )


def table() -> str:
    lines = [
        "| texts | hostile | flagged | benign | flagged | recall | precision | false flags |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for name, held_out in (("tuned on", False), ("held out", True)):
        found = measured([sample for sample in samples() if sample.held_out == held_out])
        numbers = f"{found.hostile} | {found.caught} | {found.benign} | {found.accused}"
        shares = (found.recall, found.precision, found.false_flags)
        lines.append(f"| {name} | {numbers} | {' | '.join(f'{100 * x:.1f} %' for x in shares)} |")
    return "\n".join(lines)


def misses() -> Iterator[str]:
    """Of the part that may be tuned on only."""
    for sample in samples():
        found = flags(sample.text)
        if not sample.held_out and bool(found) != sample.hostile:
            yield f"{'missed' if sample.hostile else 'accused'} {found} {sample.text!r}"


if __name__ == "__main__":
    sys.stdout.write("\n".join(misses() if "--misses" in sys.argv else [table()]) + "\n")
