"""Print the table of promises; fail if a promise is broken or no test shows it.

A folder has the results of one complete run. With several folders, the table is of the newest run.
"""

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.machine import describe_machine
from tests.promises.table import KEPT, Row, as_markdown, as_text, rows, runs

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".promises"  # the same as in the Makefile
DOCS = ROOT / "docs" / "promises.md"
BEGIN, END = "<!-- the table: python -m tests.promises --docs -->", "<!-- end of the table -->"


@dataclass(frozen=True, slots=True)
class CompleteRun:
    """The results of one folder: a run of `make chaos` consists of several runs of pytest."""

    results: list[dict[str, Any]]
    table: list[Row]

    @property
    def began(self) -> datetime:
        return datetime.fromisoformat(self.results[0]["began"])

    @property
    def commits(self) -> str:
        """Return the commit, or all of them if the source tree changed during the run."""
        commits = [each.get("commit") or "not recorded" for each in self.results]
        return ", ".join(dict.fromkeys(commits))

    @property
    def missed_promises(self) -> list[int]:
        return [row.number for row in self.table if row.verdict != KEPT]

    @property
    def score(self) -> str:
        return f"{len(self.table) - len(self.missed_promises)} of {len(self.table)}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "folders", type=Path, nargs="*", default=[FOLDER], help="one for each complete run"
    )
    parser.add_argument("--docs", action="store_true", help=f"write it to {DOCS.name}, too")
    options = parser.parse_args()
    complete = load_runs(options.folders)
    if len(complete) < len(options.folders) > 1:
        parser.error("Each of several folders must have results.")
    newest, *earlier = complete or [CompleteRun([], rows([]))]
    _print(as_text(newest.table))
    _print(f"\n{newest.score} promises were kept.")
    if newest.missed_promises:
        numbers = ", ".join(map(str, newest.missed_promises))
        _print(f"Not kept, or not shown by the tests that ran: {numbers}.")
    for each in earlier:
        _print(f"On {_format_time(each)}: {each.score}.")
    if options.docs and complete:
        _write(complete)
    return 1 if any(each.missed_promises for each in (newest, *earlier)) else 0


def load_runs(folders: Iterable[Path]) -> list[CompleteRun]:
    """Return the complete runs, newest first, without folders that have no results."""
    results = [stored for folder in folders if (stored := runs(folder))]
    complete = [CompleteRun(stored, rows(stored)) for stored in results]
    return sorted(complete, key=lambda each: each.began, reverse=True)


def _write(complete: Sequence[CompleteRun]) -> None:
    """Replace the tables in the documentation and leave the rest of the page."""
    before, _, rest = DOCS.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    newest = complete[0]
    parts = (BEGIN, _describe_run(newest), list_runs(complete), as_markdown(newest.table), END)
    DOCS.write_text(before + "\n\n".join(parts) + after)


def _describe_run(newest: CompleteRun) -> str:
    last = newest.results[-1]
    is_short = any(each["short"] for each in newest.results)
    command = "make test` and `make chaos SHORT=1" if is_short else "make chaos"
    return (
        f"By `{command}` on {datetime.fromisoformat(last['began']):%-d %B %Y}, with "
        f"{describe_machine(last)}."
    )


def list_runs(complete: Sequence[CompleteRun]) -> str:
    """Return a table of the runs, which states how many promises each kept."""
    lines = ["| run | commit | promises kept |", "| --- | --- | ---: |"]
    lines += [f"| {_format_time(each)} | {each.commits} | {each.score} |" for each in complete]
    return "\n".join(lines)


def _format_time(run: CompleteRun) -> str:
    return f"{run.began.astimezone(UTC):%-d %B %Y, %H:%M} UTC"


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
