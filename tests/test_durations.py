"""The file of durations shows which tests are long, and which of them wait."""

from pathlib import Path

import pytest

from tests.durations import COLUMNS

SLEEP = 0.3  # seconds
TICKS = 0.05  # seconds by which the kernel's count may be too low
CASES = f"""
import time

import pytest

@pytest.fixture
def server():
    time.sleep({SLEEP})

def test_waits(server):
    pass

def test_works():
    until = time.process_time() + {SLEEP}
    while time.process_time() < until:
        pass

def test_is_short():
    pass
"""


@pytest.mark.parametrize("workers", ["0", "2"])
def test_file_of_durations(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, workers: str
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    monkeypatch.delenv("DJANGO_SETTINGS_MODULE", raising=False)
    # Importing the other plugins takes longer than these tests.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeconftest('pytest_plugins = ["tests.durations"]')
    pytester.makepyfile(test_case=CASES)
    pytester.runpytest_subprocess(
        "-p", "xdist", "-n", workers, "--durations-file=new/durations.tsv"
    )
    lines = (pytester.path / "new/durations.tsv").read_text().splitlines()
    assert lines[0].split("\t") == [*COLUMNS]
    rows = [dict(zip(COLUMNS, line.split("\t"), strict=True)) for line in lines[1:]]
    seconds = [float(row["seconds"]) for row in rows]
    assert seconds == sorted(seconds, reverse=True)
    by_name = {row["test"].partition("::")[2]: row for row in rows}
    assert by_name.keys() == {"test_waits", "test_works", "test_is_short"}
    waits, works = by_name["test_waits"], by_name["test_works"]
    assert float(waits["setup"]) >= SLEEP > float(waits["processor"])
    assert min(float(works["call"]), float(works["processor"])) >= SLEEP - TICKS
    assert {row["worker"][:2] for row in rows} == ({"gw"} if workers == "2" else {"al"})
