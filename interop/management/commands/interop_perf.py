"""manage.py interop_perf: rankings and overhead of each protocol, beside the native API."""

import gzip
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

import memory.benchmarks
from interop.benchmarks.protocols import Connection, Search, connect
from interop.benchmarks.temporary_product import run_temporary_product
from kmapp.management.argument_types import parse_count

PAIRS = Path(memory.benchmarks.__file__).with_name("parallel.json")
LIMITS = {"mem0": 5, "Hindsight": 5, "LangGraph": 5, "MCP": 12}  # ms
EMBEDDING_SECONDS = 1800
Set = tuple[Sequence[str], Sequence[str]]  # texts to store, and questions about them


@dataclass(slots=True)
class Figures:
    """Times of a protocol and of the native search in ms, and the number of equal rankings."""

    own: list[float] = field(default_factory=list)
    native: list[float] = field(default_factory=list)
    same: int = 0

    @property
    def overhead(self) -> float:
        return median(self.own) - median(self.native)


class Command(BaseCommand):
    help = (
        "Ask the same questions over each protocol and compare the rankings and times with "
        "/v1/memory/search. Runs a temporary product."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "data", nargs="*", type=Path, help="files of labelled questions; default: built-in ones"
        )
        parser.add_argument(
            "--number", type=parse_count, default=300, help="questions of each file"
        )

    def handle(self, *, data: Sequence[Path], number: int, **_: Any) -> None:
        sets = [each for path in data for each in read_collections(path)] or [read_pairs()]
        figures = {protocol: Figures() for protocol in LIMITS}
        with run_temporary_product() as product:
            for order, (texts, questions) in enumerate(sets):
                with connect(product, f"bench-{order}") as connection:
                    connection.store(texts)
                    wait_for_embeddings(connection)
                    measure(connection, questions[:number], figures)
        self.stdout.write("p50 in ms, each protocol and the native search of the same memories.\n")
        self.stdout.write("| protocol | p50 | native | over native | limit | same ranking |")
        self.stdout.write("| --- | ---: | ---: | ---: | ---: | ---: |")
        for protocol, each in figures.items():
            times = f"{median(each.own):.1f} | {median(each.native):.1f} | {each.overhead:.1f}"
            same = f"{each.same} of {len(each.own)}"
            self.stdout.write(f"| {protocol} | {times} | {LIMITS[protocol]} | {same} |")
        if missed := list_missed_targets(figures):
            raise CommandError("\n".join(missed))


def list_missed_targets(figures: Mapping[str, Figures]) -> list[str]:
    """Return a line for each protocol that exceeds its limit or returns another ranking."""
    missed = []
    for protocol, each in figures.items():
        if each.overhead > LIMITS[protocol]:
            missed.append(
                f"{protocol} adds {each.overhead:.1f} ms to a search (p50); the limit is "
                f"{LIMITS[protocol]} ms."
            )
        if each.same < len(each.own):
            missed.append(f"Rankings of {protocol} differ from those of /v1/memory/search.")
    return missed


def read_collections(path: Path) -> list[Set]:
    """Return the texts and questions of each collection of a file (JSON, optionally gzipped)."""
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    return [
        ([item["text"] for item in each["items"]], [query["text"] for query in each["queries"]])
        for each in json.loads(content)["collections"]
    ]


def read_pairs() -> Set:
    """Return 80 sentences in both languages, and a question about each."""
    pairs = [pair for pairs in json.loads(PAIRS.read_text()).values() for pair in pairs]
    return [text for text, _ in pairs], [question for _, question in pairs]


def wait_for_embeddings(connection: Connection) -> None:
    began = time.monotonic()
    while connection.send("GET", "/v1/health")["pending_embeddings"]:
        if time.monotonic() - began > EMBEDDING_SECONDS:
            raise CommandError("The embeddings were not finished in time.")
        time.sleep(0.2)


def measure(
    connection: Connection, questions: Sequence[str], figures: Mapping[str, Figures]
) -> None:
    """Ask each question over each protocol and natively, which of them first in turn.

    A question is asked once before, so that its vector is cached.
    """
    for turn, question in enumerate(questions):
        for protocol, pair in connection.comparisons().items():
            own, native = pair
            native(question)
            timed = {search: timed_search(search, question) for search in pair[:: 1 - turn % 2 * 2]}
            each = figures[protocol]
            each.own.append(timed[own][0])
            each.native.append(timed[native][0])
            each.same += timed[own][1] == timed[native][1]


def timed_search(search: Search, question: str) -> tuple[float, list[str]]:
    """Return the milliseconds and the texts of a search."""
    began = time.perf_counter()
    texts = search(question)
    return (time.perf_counter() - began) * 1000, texts
