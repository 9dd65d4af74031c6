"""One table of the results of all runs in a folder."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import wrap
from typing import Any

from tests.chaos.measure import SKIPPED_IN_SHORT_FORM
from tests.promises.plugin import CARRIES, MEASURED, WHY
from tests.promises.register import PROMISES, Promise

KEPT, BROKEN, NOT_SHOWN = "kept", "BROKEN", "NOT SHOWN"
HEADINGS = ("#", "promise", "fault", "required", "measured", "verdict")
WIDTHS = (2, 34, 30, 34, 40, 10)


@dataclass
class Row:
    number: int
    promise: Promise
    figures: list[str] = field(default_factory=list)
    outcomes: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)  # reasons of skipped tests

    def add(self, test: dict[str, Any], *, short: bool) -> None:
        self.outcomes.append(test["outcome"])
        self.figures += test[MEASURED]
        if test["outcome"] == "skipped" and not short and test.get(WHY) != SKIPPED_IN_SHORT_FORM:
            self.missing.append(test.get(WHY, "skipped"))

    @property
    def verdict(self) -> str:
        """Return "kept" if a test passed and none failed.

        A test that was skipped leaves the promise open, except in the short form.
        """
        if "failed" in self.outcomes:
            return BROKEN
        if self.missing:
            return f"{NOT_SHOWN}: {'; '.join(dict.fromkeys(self.missing))}"
        return KEPT if "passed" in self.outcomes else NOT_SHOWN

    def cells(self) -> tuple[str, ...]:
        passed, skipped = (self.outcomes.count(each) for each in ("passed", "skipped"))
        tests = f"{passed} of {len(self.outcomes) - skipped} tests passed"
        if skipped:
            tests += f", {skipped} skipped"
        figures = "; ".join([*dict.fromkeys(self.figures), tests])
        promise = (self.promise.text, self.promise.fault, self.promise.required)
        return (str(self.number), *promise, figures, self.verdict)


def runs(folder: Path) -> list[dict[str, Any]]:
    """Return the stored results of each run, the oldest first."""
    results = [json.loads(file.read_text()) for file in folder.glob("*.json")]
    return sorted(results, key=lambda run: str(run["began"]))


def rows(results: list[dict[str, Any]]) -> list[Row]:
    """Return all promises; the last result of each test counts."""
    tests = {name: (test, run["short"]) for run in results for name, test in run["tests"].items()}
    table = {number: Row(number, promise) for number, promise in PROMISES.items()}
    for name in sorted(tests):
        test, short = tests[name]
        for number in test[CARRIES]:
            table[number].add(test, short=short)
    return list(table.values())


def as_text(table: list[Row]) -> str:
    """Format the table for a terminal of 160 columns."""
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
