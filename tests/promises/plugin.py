"""Pytest plugin: stores the promises, outcomes and figures of tests with --promises."""

import json
import os
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.measure import SHORT
from tests.machine import machine
from tests.promises.register import PROMISES

CARRIES, MEASURED, WHY = "promises", "measured", "why"  # why: the reason of a skip
RecordFigure = Callable[[str], None]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--promises", type=Path, metavar="FOLDER", help="store results of promises")


def pytest_configure(config: pytest.Config) -> None:
    folder = config.getoption("--promises")
    if folder and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Recorder(folder))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        numbers = sorted({n for mark in item.iter_markers("promise") for n in mark.args})
        if unknown := set(numbers) - PROMISES.keys():
            raise pytest.UsageError(f"{item.nodeid}: there is no promise {unknown}.")
        if item.get_closest_marker("chaos") and not numbers:
            raise pytest.UsageError(f"{item.nodeid}: a chaos test needs the mark of a promise.")
        if numbers:
            item.user_properties.append((CARRIES, numbers))


@pytest.fixture
def record_figure(record_property: Callable[[str, object], None]) -> RecordFigure:
    """Return a function that records a figure for the table of promises."""
    return partial(record_property, MEASURED)


class Recorder:
    """Writes one file at the end of a run; an interrupted run has no result."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.began = datetime.now(UTC)
        self.machine = machine()  # before the run, in which the source tree may change
        self.tests: dict[str, dict[str, Any]] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        properties = [(str(name), value) for name, value in report.user_properties]
        if CARRIES not in dict(properties):
            return
        test = self.tests.setdefault(report.nodeid, {"outcome": ""})
        test[CARRIES] = dict(properties)[CARRIES]
        test[MEASURED] = [value for name, value in properties if name == MEASURED]
        if report.skipped and isinstance(report.longrepr, tuple):
            test[WHY] = report.longrepr[2].removeprefix("Skipped: ")
        if report.failed or (test["outcome"] != "failed" and report.skipped):
            test["outcome"] = report.outcome
        elif report.when == "call" and not test["outcome"]:
            test["outcome"] = "passed"

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        if exitstatus == pytest.ExitCode.INTERRUPTED:
            return
        run = {
            "began": self.began.isoformat(),
            "short": SHORT,
            **self.machine,
            "tests": self.tests,
        }
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / f"{self.began:%Y%m%d-%H%M%S}-{os.getpid()}.json"
        file.write_text(json.dumps(run, indent=1, ensure_ascii=False))
