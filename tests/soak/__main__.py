"""python -m tests.soak: a crowd at work, a process killed every twenty seconds, and a reckoning."""

import argparse
import random
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from textwrap import fill
from threading import Event

import psycopg

from tests.soak.clients import Crowd, gathered
from tests.soak.deployment import Deployment, deployment
from tests.soak.verification import Finding, owed, reckoned

BETWEEN = 20  # seconds from one death to the next
METERED = 5  # seconds between two looks at the memory
WIDTH = 120  # characters of a line of the page
SETTLING = 900  # seconds for everything that is owed when the crowd goes home


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m tests.soak")
    options.add_argument("--minutes", type=float, default=30)
    options.add_argument("--seed", type=int, default=random.randrange(10**6))  # noqa: S311
    options.add_argument("--out", type=Path, help="keep the result as Markdown in this file")
    chosen = options.parse_args()
    with (
        TemporaryDirectory() as folder,
        deployment() as there,
        gathered(there, Path(folder)) as crowd,
    ):
        say(f"Started on port {there.port}; {chosen.minutes:g} minutes, seed {chosen.seed}.")
        memory = soaked(there, crowd, 60 * chosen.minutes, random.Random(chosen.seed))  # noqa: S311
        settled = seconds_to_settle(there)
        findings = reckoned(there, crowd, memory)
        told = [
            f"Made by `make soak` ({chosen.minutes:g} minutes, seed {chosen.seed}): three writers "
            "in two accounts, three readers, a reviewer in the pages and an importer work with "
            f"what `make up` runs, of which every {BETWEEN} s a process is killed without a word.",
            table(findings),
            surroundings(there, crowd, settled, memory),
        ]
    paragraphs = [each if each.startswith("|") else fill(each, WIDTH) for each in told]
    page = "\n\n".join(["# Under fire", *paragraphs]) + "\n"
    sys.stdout.write(page)
    if chosen.out:
        chosen.out.write_text(page, encoding="utf-8")
    return 0 if all(finding.holds for finding in findings) else 1


def say(text: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")


def soaked(there: Deployment, crowd: Crowd, seconds: float, dice: random.Random) -> list[float]:
    """Let all of them work, and kill one process after another. Returns MB over time."""
    stop, memory, began = Event(), list[float](), time.monotonic()
    with ThreadPoolExecutor(len(crowd.everybody)) as threads:
        working = [threads.submit(worker.work, stop) for worker in crowd.everybody]
        next_death = began + BETWEEN
        while (now := time.monotonic()) < began + seconds:
            if now >= next_death:
                say(f"killed a process of {there.kill_one(dice)}")
                next_death += BETWEEN
            elif next_death - now < 2 * METERED:  # whoever died last is back
                memory.append(there.memory())
            time.sleep(METERED)
        stop.set()
        for each in working:
            each.result()
    return memory


def seconds_to_settle(there: Deployment) -> float:
    """Wait until nothing is owed. Returns the seconds that took, at most `SETTLING`."""
    began, left = time.monotonic(), 1
    while left and time.monotonic() - began < SETTLING:
        time.sleep(2)
        try:
            left = owed(there)
        except psycopg.OperationalError:
            continue  # the database is still coming back
    return time.monotonic() - began


def table(findings: Sequence[Finding]) -> str:
    rows = [f"| {each.what} | {each.found} | {each.verdict} |" for each in findings]
    return "\n".join(["| | found | as it should be |", "| --- | ---: | --- |", *rows])


def surroundings(there: Deployment, crowd: Crowd, settled: float, memory: Sequence[float]) -> str:
    deaths = ", ".join(f"{number} of {name}" for name, number in sorted(there.killed.items()))
    answers = ", ".join(
        f"{number:,} x {status or 'none'}" for status, number in crowd.answers.most_common()
    )
    return (
        f"Processes killed, by program: {deaths}. Answers, by status: {answers}; whoever wrote and "
        f"got none, or 503, asked again. {crowd.importer.repeats} imports were repeated. What was "
        f"owed at the end was done {settled:.0f} s later. Memory of all processes together: "
        f"{min(memory):.0f} to {max(memory):.0f} MB (PSS)."
    )


if __name__ == "__main__":
    sys.exit(main())
