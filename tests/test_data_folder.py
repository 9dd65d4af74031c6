"""The data of the tests is in memory, unless the machine has too little."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from kmapp.runtime.embedded.postgres_memory import Machine
from tests import data_folder
from tests.data_folder import (
    DISK,
    MIN_FREE,
    PREFIX,
    choose_parent,
    create_data_folder,
    delete_leftovers,
)

ENOUGH = 2 * MIN_FREE


@pytest.mark.parametrize(
    ("memory", "shared", "in_memory"),
    [
        (ENOUGH, MIN_FREE, True),
        (ENOUGH - 2, MIN_FREE, False),  # of the machine, or of its container
        (ENOUGH, MIN_FREE - 1, False),  # 64 in many containers
        (ENOUGH, 0, False),  # there is no such folder
    ],
)
def test_small_machines_store_the_data_on_a_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, memory: int, shared: int, *, in_memory: bool
) -> None:
    monkeypatch.setattr(data_folder, "SHARED_MEMORY", tmp_path)
    parent = choose_parent(Machine(memory, shared, processors=2))
    assert parent == (tmp_path if in_memory else DISK)


def test_data_is_on_a_disk_if_shared_memory_is_not_writable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_folder, "SHARED_MEMORY", tmp_path / "missing")
    assert choose_parent(Machine(ENOUGH, MIN_FREE, processors=2)) == DISK


def test_data_is_on_a_disk_if_programs_in_shared_memory_do_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_folder, "SHARED_MEMORY", tmp_path)
    monkeypatch.setattr(os, "statvfs", lambda _folder: SimpleNamespace(f_flag=os.ST_NOEXEC))
    assert choose_parent(Machine(ENOUGH, MIN_FREE, processors=2)) == DISK


def test_data_of_killed_runs_is_deleted(tmp_path: Path) -> None:
    running, killed = (tmp_path / f"{PREFIX}{name}" for name in ("running", "killed"))
    descriptor = create_data_folder(running)
    os.close(create_data_folder(killed))  # as the kernel does
    (killed / "postgres").mkdir()
    (tmp_path / f"{PREFIX}link").symlink_to(tmp_path)
    (tmp_path / "other").mkdir()
    delete_leftovers(tmp_path, tmp_path / "missing")
    assert {path.name for path in tmp_path.iterdir()} == {running.name, f"{PREFIX}link", "other"}
    os.close(descriptor)
    delete_leftovers(tmp_path)
    assert not running.exists()
