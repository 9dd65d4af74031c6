"""Files in which the processes of a host share their metrics."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from pytest_django import Settings

from kmapp.runtime import embedded, metrics_files, stack
from kmapp.runtime.embedded.postgres_memory import SHARED_MEMORY
from kmapp.runtime.metrics_files import delete_metrics_of_ended_processes, get_metrics_folder
from tests.chaos.disks import Disk, may_mount, mounted

COUNT = """
from prometheus_client import Counter

counter = Counter("requests", "Requests.", ["path"])
for number in range(200):
    counter.labels(f"/{number}").inc()
"""


def count_requests() -> None:
    """Count in a process with the environment of the web server, in several pages of a file."""
    environment = {**os.environ, **stack.build_web().env}
    subprocess.run([sys.executable, "-c", COUNT], env=environment, check=True)


def test_metrics_of_ended_processes_are_deleted(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    remaining = {f"counter_{os.getpid()}.db", f"gauge_livemax_{os.getpid()}.db", "notes.db"}
    for name in (*remaining, f"counter_{ended.pid}.db", f"gauge_livemax_{ended.pid}.db"):
        (tmp_path / name).touch()
    delete_metrics_of_ended_processes(tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == remaining


@pytest.mark.promise(46)
@pytest.mark.skipif(not may_mount(), reason="mounting a disk is not permitted")
def test_processes_count_while_the_data_disk_is_full(settings: Settings, tmp_path: Path) -> None:
    """A process that writes to a mapped file on a full disk is killed."""
    with mounted(Disk(tmp_path / "disk", 64)) as disk:
        settings.DATA_DIR = disk.folder
        with stack.temporary_folders():
            disk.fill()
            count_requests()
            assert list(get_metrics_folder(disk.folder).iterdir())


@pytest.mark.parametrize("shared_memory", [SHARED_MEMORY, Path("/missing")])
def test_up_has_an_empty_private_folder_of_metrics(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, shared_memory: Path
) -> None:
    settings.DATA_DIR = tmp_path
    monkeypatch.setattr(metrics_files, "SHARED_MEMORY", shared_memory)
    folder = get_metrics_folder(tmp_path)
    assert folder != get_metrics_folder(tmp_path / "other")
    with stack.temporary_folders():
        count_requests()
        assert list(folder.iterdir())
        assert folder.stat().st_mode & 0o777 == 0o700
        with stack.temporary_folders():  # as after `kill -9`
            assert not list(folder.iterdir())
    assert not folder.exists()
    shutil.rmtree(embedded.get_runtime_dir(tmp_path))
