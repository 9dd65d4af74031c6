"""Pytest plugin: writes what each test takes to a file with --durations-file.

    make test DURATIONS=/tmp/durations.tsv
    head -50 /tmp/durations.tsv

The longest tests come first. A test waits if its processor seconds, which are those of the worker
with its threads and of child processes that ended, are much fewer than its seconds: for a timer, a
server, a browser, or a processor that other processes use.
"""

import os
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

PROCESSOR = "processor_seconds"
PHASES = ("setup", "call", "teardown")
COLUMNS = ("seconds", *PHASES, "processor", "began", "worker", "test")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--durations-file", type=Path, metavar="FILE", help="append the seconds of all tests"
    )


def pytest_configure(config: pytest.Config) -> None:
    if file := config.getoption("--durations-file"):
        config.pluginmanager.register(ProcessorMeter())
        if not hasattr(config, "workerinput"):
            config.pluginmanager.register(DurationsFile(file))


class ProcessorMeter:
    """Adds the processor seconds of each phase to its report."""

    def __init__(self) -> None:
        self.before = 0.0

    def pytest_runtest_logstart(self) -> None:
        self.before = count_processor_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        after = count_processor_seconds()
        report.user_properties.append((PROCESSOR, after - self.before))
        self.before = after
        return report


def count_processor_seconds() -> float:
    """Return the seconds of this process and of its children that have ended."""
    return sum(os.times()[:4])


@dataclass
class Duration:
    """What one test took, in seconds."""

    worker: str
    began: float  # since the start of the first test
    phases: dict[str, float] = field(default_factory=dict)
    processor: float = 0.0

    @property
    def seconds(self) -> float:
        return sum(self.phases.values())

    def cells(self) -> list[str]:
        phases = [self.phases.get(name, 0.0) for name in PHASES]
        numbers = [self.seconds, *phases, self.processor, self.began]
        return [*(f"{number:.2f}" for number in numbers), self.worker]


class DurationsFile:
    """Appends a table at the end of a run, because `tests.run` runs failed tests again."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.first = 0.0
        self.tests: dict[str, Duration] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.first = self.first or report.start
        if report.nodeid not in self.tests:
            worker = getattr(report, "worker_id", "alone")
            self.tests[report.nodeid] = Duration(worker, report.start - self.first)
        duration = self.tests[report.nodeid]
        duration.phases[report.when] = duration.phases.get(report.when, 0.0) + report.duration
        properties = {str(name): value for name, value in report.user_properties}
        duration.processor += float(str(properties.get(PROCESSOR, 0.0)))

    def pytest_sessionfinish(self) -> None:
        rows = sorted(self.tests.items(), key=lambda row: row[1].seconds, reverse=True)
        lines = ["\t".join(COLUMNS)]
        lines += ["\t".join([*duration.cells(), test]) for test, duration in rows]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.writelines(f"{line}\n" for line in lines)
