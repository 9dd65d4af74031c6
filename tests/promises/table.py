"""One table of what all runs in a folder showed."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import wrap
from typing import Any

from tests.chaos.measure import ELSEWHERE
from tests.promises.plugin import CARRIES, MEASURED, WHY
from tests.promises.register import PROMISES, Promise

KEPT, BROKEN, NOT_SHOWN = "kept", "BROKEN", "NOT SHOWN"
HEADINGS = ("#", "promise", "fault", "required", "measured", "verdict")
WIDTHS = (2, 34, 30, 34, 40, 10)


@dataclass
class Row:
    """A promise, and what its tests said."""

    number: int
    promise: Promise
    figures: list[str] = field(default_factory=list)
    outcomes: list[str] = field(default_factory=list)
    lacks: list[str] = field(default_factory=list)  # for want of what tests were skipped

    def add(self, test: dict[str, Any], *, short: bool) -> None:
        self.outcomes.append(test["outcome"])
        self.figures += test[MEASURED]
        if test["outcome"] == "skipped" and not short and test.get(WHY) != ELSEWHERE:
            self.lacks.append(test.get(WHY, "skipped"))

    @property
    def verdict(self) -> str:
        """Kept is what some test showed and none refuted.

        In the full form a test that misses a program leaves it open; the short form may miss some.
        """
        if "failed" in self.outcomes:
            return BROKEN
        if self.lacks:
            return f"{NOT_SHOWN}: {'; '.join(dict.fromkeys(self.lacks))}"
        return KEPT if "passed" in self.outcomes else NOT_SHOWN

    def cells(self) -> tuple[str, ...]:
        passed, skipped = (self.outcomes.count(each) for each in ("passed", "skipped"))
        tests = f"{passed} of {len(self.outcomes) - skipped} tests passed"
        if skipped:
            tests += f", {skipped} skipped"
        said = "; ".join([*dict.fromkeys(self.figures), tests])
        told = (self.promise.text, self.promise.fault, self.promise.required)
        return (str(self.number), *told, said, self.verdict)


def runs(folder: Path) -> list[dict[str, Any]]:
    """What was kept of each run, the oldest first."""
    found = [json.loads(file.read_text()) for file in folder.glob("*.json")]
    return sorted(found, key=lambda run: str(run["began"]))


def rows(found: list[dict[str, Any]]) -> list[Row]:
    """All promises. Of a test that ran more than once, the last time counts."""
    tests = {name: (test, run["short"]) for run in found for name, test in run["tests"].items()}
    table = {number: Row(number, promise) for number, promise in PROMISES.items()}
    for name in sorted(tests):
        test, short = tests[name]
        for number in test[CARRIES]:
            table[number].add(test, short=short)
    return list(table.values())


def as_text(table: list[Row]) -> str:
    """For a terminal of 160 columns."""
    lines = []
    for cells in [HEADINGS, *(row.cells() for row in table)]:
        columns = [wrap(cell, width) for cell, width in zip(cells, WIDTHS, strict=True)]
        for each in range(max(map(len, columns))):
            parts = [column[each] if each < len(column) else "" for column in columns]
            padded = (part.ljust(width) for part, width in zip(parts, WIDTHS, strict=True))
            lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def as_markdown(table: list[Row]) -> str:
    lines = [HEADINGS, ("---:", *["---"] * (len(HEADINGS) - 1)), *(row.cells() for row in table)]
    return "\n".join(
        "| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines
    )
