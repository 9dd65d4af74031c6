"""Failed tests run once more, alone."""

from pathlib import Path

import pytest

from tests.run import MAX_RERUNS, run

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
