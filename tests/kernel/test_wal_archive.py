"""The WAL archive is durable, and the archives of replaced clusters expire."""

import gzip
import os
import shutil
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from kmapp.runtime.embedded import wal_archive
from kmapp.runtime.embedded.base_backups import delete_replaced_archives, list_base_backups
from kmapp.runtime.embedded.recovery import choose_base_backup
from tests.kernel.test_recovery import add_base_backup

pytestmark = pytest.mark.promise(30, 44)
TODAY = datetime.now(UTC)
DAY = timedelta(days=1)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Create archives of three clusters; that of 2 ended yesterday, the others 8 days ago."""
    data = tmp_path / "data" / "postgres"
    data.parent.mkdir()
    for name, ended in (("1", TODAY - 8 * DAY), ("2", TODAY - DAY), ("3", TODAY - 8 * DAY)):
        wal = tmp_path / name / "wal"
        wal.mkdir(parents=True)
        wal_archive.record_installation(data, wal.parent)
        for days, segment in ((30, 2), (9, 5)):
            add_base_backup(wal, TODAY - days * DAY, segment)
        for number in ("02", "05", "06"):
            path = wal / f"0000000100000000000000{number}.gz"
            path.write_bytes(gzip.compress(b""))
            os.utime(path, (ended.timestamp(), ended.timestamp()))
    shutil.rmtree(data.parent)
    return tmp_path


def list_content(folder: Path) -> tuple[list[int], list[str]]:
    """Return the ages of the base backups in days, and the last digits of the segments."""
    backups = [each for each in list_base_backups(folder.parent) if each.folder.parent == folder]
    ages = [(TODAY - each.ended).days for each in backups]
    return ages, sorted(path.stem[-2:] for path in (folder / "wal").iterdir())


def test_replaced_archive_keeps_what_a_moment_of_the_period_needs(root: Path) -> None:
    deleted = delete_replaced_archives(root / "3", 7, TODAY)
    assert sorted(path.name for path in root.iterdir()) == ["2", "3"]
    assert list_content(root / "2") == ([9], ["05", "06"])
    assert list_content(root / "3") == ([30, 9], ["02", "05", "06"]), "the live cluster"
    assert sorted((each.folder.parent.name, (TODAY - each.ended).days) for each in deleted) == [
        ("1", 9),
        ("1", 30),
        ("2", 30),
    ]
    assert choose_base_backup(root, TODAY - 7 * DAY).ended == TODAY - 9 * DAY


def test_replaced_archive_is_deleted_when_its_end_is_too_old(root: Path) -> None:
    assert delete_replaced_archives(root / "3", 90, TODAY) == []
    delete_replaced_archives(root / "3", 7, TODAY)
    assert delete_replaced_archives(root / "3", 7, TODAY) == []
    [last] = delete_replaced_archives(root / "3", 7, TODAY + 7 * DAY)
    assert last.ended == TODAY - 9 * DAY
    assert [path.name for path in root.iterdir()] == ["3"]


def test_other_folders_are_not_deleted(root: Path) -> None:
    """Moved base backups stay, and so does a cluster that has not archived anything yet."""
    (root / "moved").mkdir()
    (root / "1").rename(root / "moved" / "1")
    (root / "4" / "wal").mkdir(parents=True)
    assert delete_replaced_archives(root / "3", 7, TODAY + 90 * DAY)
    assert sorted(path.name for path in root.iterdir()) == ["3", "4", "moved"]


@pytest.mark.parametrize("other", ["4f1d", ""])
def test_archives_of_other_installations_do_not_expire(root: Path, other: str) -> None:
    """BACKUPS_DIR may be shared by mistake. The second one is of an earlier release."""
    (root / "1" / "installation").write_text(other)
    assert {path.parent.name for path in _delete(root)} == {"2"}
    (root / "3" / "installation").write_text("")
    assert _delete(root) == []
    assert (root / "1").exists()


def _delete(root: Path) -> list[Path]:
    return [each.folder for each in delete_replaced_archives(root / "3", 7, TODAY)]


def test_segment_and_its_folder_are_synced(tmp_path: Path) -> None:
    """Without both, a power failure could lose a segment that the server has removed."""
    wal, segment = tmp_path / "it's 1% wal", tmp_path / "segment"
    wal.mkdir()
    segment.write_bytes(b"records")
    command = wal_archive.build_archive_settings(wal)["archive_command"]
    command = command.replace("%p", str(segment)).replace("%f", "1").replace("%%", "%")
    shell = f'sync() {{ command sync "$1" && echo "$1"; }}; {command}'
    for synced in ([f"{wal}/1.part", str(wal)], [str(wal)]):
        ran = subprocess.run(["/bin/sh", "-c", shell], capture_output=True, text=True, check=True)
        assert ran.stdout.splitlines() == synced
        assert gzip.decompress((wal / "1.gz").read_bytes()) == b"records"
    segment.write_bytes(b"other records")
    assert subprocess.run(["/bin/sh", "-c", shell], check=False).returncode
