"""`manage.py doctor` reports full disks and folders that kmapp cannot write to."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from pytest_django import Settings

from kmapp.management.doctor import storage
from kmapp.runtime.embedded.postgres_memory import SHARED_MEMORY
from tests.kernel.test_doctor import run

NOBODY = 65534


@pytest.fixture(autouse=True)
def folder(settings: Settings, tmp_path: Path) -> Path:
    """Put everything in one folder."""
    settings.DATA_DIR = settings.BACKUPS_DIR = tmp_path
    settings.CHECKPOINT_FILE = tmp_path / "checkpoints.ndjson"
    return tmp_path


@pytest.mark.parametrize(
    ("warning", "error", "level"), [(0, 0, "OK"), (2**80, 0, "WARNING"), (2**80, 2**80, "ERROR")]
)
def test_free_space(
    folder: Path, monkeypatch: pytest.MonkeyPatch, warning: int, error: int, level: str
) -> None:
    monkeypatch.setattr(storage, "SPACE_WARNING", warning)
    monkeypatch.setattr(storage, "SPACE_ERROR", error)
    [finding] = run(storage.check_disk)
    assert finding.startswith(f"{level} ")
    assert finding.endswith(f" GB free in {folder}")


@pytest.fixture
def other_disk() -> Iterator[Path]:
    with TemporaryDirectory(dir=SHARED_MEMORY) as name:
        yield Path(name)


@pytest.mark.parametrize("use", ["database", "copy of the checkpoints"])
def test_folder_on_another_disk(
    settings: Settings, folder: Path, other_disk: Path, use: str
) -> None:
    if use == "database":  # as when kmapp runs as root
        (folder / "postgres").symlink_to(other_disk)
    else:
        settings.CHECKPOINT_COPY_FILE = str(other_disk / "copy.ndjson")
    findings = run(storage.check_disk)
    assert len(findings) == 2
    assert any(finding.endswith(f" GB free in {other_disk}") for finding in findings)


@contextmanager
def without_privileges() -> Iterator[None]:
    """Let access checks of the system apply; they do not bind root."""
    user = os.getuid()
    if user == 0:
        os.setresuid(NOBODY, -1, -1)
    try:
        yield
    finally:
        os.setresuid(user, -1, -1)


def test_folder_that_is_not_writable(folder: Path) -> None:
    finding = f"ERROR {folder} is not writable"
    assert finding not in run(storage.check_disk)
    folder.chmod(0o500)
    with without_privileges():
        assert finding in run(storage.check_disk)
