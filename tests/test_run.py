"""Failed tests run once more, alone, and the longest tests start early."""

import re
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kmapp.runtime.processes import wait_until
from tests.run import MAX_RERUNS, run
from tests.schedule import LONGEST, LONGEST_OF_CHAOS, pytest_collection_modifyitems

CASES = """
from pathlib import Path
import pytest

def test_passes():
    with Path("passes").open("a") as file:
        file.write("ran")

@pytest.mark.parametrize("each", range({failing}))
def test_fails_at_first(each):
    file = Path(f"seen-{{each}}")
    if not file.exists():
        file.touch()
        raise AssertionError

def test_fails():
    assert {sound}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DJANGO_SETTINGS_MODULE")
    # Importing the other plugins takes longer than these tests.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p xdist -p randomly")
    (tmp_path / "pytest.ini").write_text("[pytest]")
    return tmp_path


@pytest.mark.parametrize(
    ("failing", "sound", "result", "again"),
    [(1, True, 0, True), (1, False, 1, True), (MAX_RERUNS + 1, True, 1, False)],
)
def test_failures_run_again_alone(
    folder: Path,
    capfd: pytest.CaptureFixture[str],
    *,
    failing: int,
    sound: bool,
    result: int,
    again: bool,
) -> None:
    (folder / "test_case.py").write_text(CASES.format(failing=failing, sound=sound))
    assert run("-c", "pytest.ini", "-n", "0", "test_case.py") == result
    output = capfd.readouterr().out
    assert ("Running again, alone" in output) == again
    assert ("PASSED ONLY ALONE" in output) == (again and not result)
    assert (folder / "passes").read_text() == "ran", "a test that passes runs once"


ENDLESS = """
import time
from pathlib import Path
import pytest

@pytest.fixture
def server():
    yield
    Path("stopped").touch()

def test_waits(server):
    Path("began").touch()
    time.sleep(60)
"""


@pytest.mark.parametrize("shell", [(), ("sh", "-c", 'trap "" INT; exec "$@"', "sh")])
def test_servers_stop_if_the_run_is_terminated(
    folder: Path, monkeypatch: pytest.MonkeyPatch, shell: tuple[str, ...]
) -> None:
    """A background command of a script ignores SIGINT."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    (folder / "test_case.py").write_text(ENDLESS)
    command = [sys.executable, "-m", "tests.run", "-c", "pytest.ini", "-n", "0", "test_case.py"]
    with subprocess.Popen([*shell, *command], stdout=subprocess.DEVNULL) as process:
        assert wait_until((folder / "began").exists, 60)
        process.send_signal(signal.SIGTERM)
    assert process.returncode == pytest.ExitCode.INTERRUPTED
    assert (folder / "stopped").exists()


def test_longest_tests_exist() -> None:
    texts = [path.read_text() for path in Path(__file__).parent.rglob("test_*.py")]
    names = {name for text in texts for name in re.findall(r"^def (test_\w+)", text, re.MULTILINE)}
    assert {*LONGEST, *LONGEST_OF_CHAOS} - names == set()


def test_longest_chaos_tests_start_first_if_tests_are_sent_one_by_one() -> None:
    longest, second, *_ = LONGEST_OF_CHAOS
    names = ["test_short", f"{second}[45]", "test_other", longest]
    items: Any = [SimpleNamespace(name=name) for name in names]
    config: Any = SimpleNamespace(getoption=lambda _name, _default: 1)
    pytest_collection_modifyitems(config, items)
    assert [item.name for item in items] == [longest, f"{second}[45]", "test_short", "test_other"]
