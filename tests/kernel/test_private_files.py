"""Files with secrets are complete or absent, even with concurrent writers or a full disk."""

import multiprocessing
import os
import stat
from pathlib import Path

import pytest
from pytest_django import Settings

from kmapp.management.commands import up
from kmapp.runtime.private_files import create_private_file, replace_private_file


def test_concurrent_processes_get_one_secret(tmp_path: Path) -> None:
    path = tmp_path / "keys" / "secret"
    with multiprocessing.get_context("fork").Pool(8) as pool:
        secrets = set(pool.map(_create_and_read, [path] * 16))
    assert len(secrets) == 1
    assert len(secrets.pop()) == 2**16
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(path.parent.iterdir()) == [path]


def _create_and_read(path: Path) -> bytes:
    create_private_file(path, os.urandom(2**16))
    return path.read_bytes()


def test_file_system_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_path: Path, _target: Path) -> None:
        raise PermissionError("Operation not permitted")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    create_private_file(tmp_path / "secret", b"one")
    assert (tmp_path / "secret").read_bytes() == b"one"
    assert list(tmp_path.iterdir()) == [tmp_path / "secret"]


def test_full_disk_leaves_the_former_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "secret"
    replace_private_file(path, b"one")
    monkeypatch.setattr(os, "fsync", _fill_disk)
    for write in (replace_private_file, create_private_file):
        with pytest.raises(OSError, match="No space"):
            write(path, b"two")
    assert path.read_bytes() == b"one"
    assert list(tmp_path.iterdir()) == [path]


def _fill_disk(_descriptor: int) -> None:
    raise OSError("No space left on device")


def test_login_survives_a_start_with_a_full_disk(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Credentials are displayed only once, so a failed write must not lose the stored ones."""
    settings.DATA_DIR = tmp_path
    up._store_login({"password": "a long one", "api_key": None})  # noqa: SLF001
    monkeypatch.setattr(os, "fsync", _fill_disk)
    up._store_login({"password": None, "api_key": None})  # noqa: SLF001
    with pytest.raises(OSError, match="No space"):
        up._store_login({"password": None, "api_key": "km_new"})  # noqa: SLF001
    assert up._load_login() == {"password": "a long one"}  # noqa: SLF001
