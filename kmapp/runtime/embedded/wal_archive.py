"""Archive of the embedded PostgreSQL for point-in-time recovery. No Django.

    <root>/<system identifier>/wal/000000010000000000000001.gz   segments, archived by the server
    <root>/<system identifier>/base-20261125T010203.405060Z/     a base backup, named after its end

Another cluster has another identifier, so its segments cannot be mixed with these.
"""

import shlex
import struct
from pathlib import Path

SWITCH_SECONDS = 60  # a segment is archived at the latest after this time


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
