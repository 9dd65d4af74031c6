"""Archive of the embedded PostgreSQL for point-in-time recovery. No Django.

    <root>/<system identifier>/wal/000000010000000000000001.gz   segments, archived by the server
    <root>/<system identifier>/base-20261125T010203.405060Z/     a base backup, named after its end
    <root>/<system identifier>/installation                      the ID of the one that archives

Another cluster has another identifier, so its segments cannot be mixed with these.
"""

import gzip
import os
import shlex
import shutil
import struct
from pathlib import Path
from uuid import uuid4

SWITCH_SECONDS = 60  # a segment is archived at the latest after this time
INSTALLATION = "installation"


def get_cluster_folder(root: Path, data: Path) -> Path:
    """Return the folder of a cluster; PostgreSQL's control file starts with its identifier."""
    control = (data / "global" / "pg_control").read_bytes()
    return root / str(struct.unpack("=Q", control[:8])[0])


def record_installation(data: Path, cluster: Path) -> None:
    """Record in the folder of a cluster that the installation with these data archives there.

    Its ID is stored next to the data, so a database that a restore creates has the same ID.
    """
    own = data.with_name(INSTALLATION)
    if not read_installation(own.parent):
        _write_file(own, uuid4().hex)
    if read_installation(cluster) != read_installation(own.parent):
        _write_file(cluster / INSTALLATION, read_installation(own.parent))


def read_installation(folder: Path) -> str:
    """Return the recorded ID, or an empty text."""
    path = folder / INSTALLATION
    return path.read_text().strip() if path.exists() else ""


def _write_file(path: Path, text: str) -> None:
    draft = path.with_name(f"{path.name}.part")
    draft.write_text(f"{text}\n")
    draft.replace(path)


def archive_segment(segment: Path, wal: Path) -> None:
    """Archive a complete segment of a stopped server, unless the archive has it.

    Like the server's `archive_command`, it leaves the segment complete in the archive or absent.
    """
    archived, draft = wal / f"{segment.name}.gz", wal / f"{segment.name}.part"
    if archived.exists():
        return
    with segment.open("rb") as source, draft.open("wb") as target:
        with gzip.GzipFile(fileobj=target, mode="wb", compresslevel=1) as packed:
            shutil.copyfileobj(source, packed)
        target.flush()
        os.fsync(target.fileno())
    owner = wal.stat()  # the server's account reads it
    os.chown(draft, owner.st_uid, owner.st_gid)
    draft.rename(archived)
    folder = os.open(wal, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


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
