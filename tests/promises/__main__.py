"""Print the table of promises; fail if a promise is broken or no test shows it."""

import argparse
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

from tests.promises.table import KEPT, Row, as_markdown, as_text, rows, runs

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".promises"  # the same as in the Makefile
DOCS = ROOT / "docs" / "promises.md"
BEGIN, END = "<!-- the table: python -m tests.promises --docs -->", "<!-- end of the table -->"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    parser.add_argument("--docs", action="store_true", help=f"write it to {DOCS.name}, too")
    options = parser.parse_args()
    results = runs(options.folder)
    table = rows(results)
    short = [row.number for row in table if row.verdict != KEPT]
    _print(as_text(table))
    _print(f"\n{len(table) - len(short)} of {len(table)} promises were kept.")
    if short:
        _print(f"Not kept, or not shown by the tests that ran: {', '.join(map(str, short))}.")
    if options.docs and results:
        _write(results, table)
    return 1 if short else 0


def _write(found: list[dict[str, Any]], table: list[Row]) -> None:
    """Replace the table in the documentation and leave the rest of the page."""
    before, _, rest = DOCS.read_text().partition(BEGIN)
    _, _, after = rest.partition(END)
    DOCS.write_text(
        f"{before}{BEGIN}\n\n{_describe_run(found)}\n\n{as_markdown(table)}\n\n{END}{after}"
    )


def _describe_run(found: list[dict[str, Any]]) -> str:
    last = found[-1]
    command = "make test` and `make chaos SHORT=1" if last["short"] else "make chaos"
    return (
        f"By `{command}` on {datetime.fromisoformat(last['began']):%-d %B %Y}, with {last['cores']}"
        f" cores, PostgreSQL {last['postgres']} and Python {last['python']}."
    )


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
