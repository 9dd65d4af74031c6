"""The folder with the data of the servers of a run."""

import os
import uuid
from pathlib import Path

MEMORY = Path("/dev/shm")  # noqa: S108
DISK = Path("/tmp")  # noqa: S108
ROOM = 8 * 2**30  # bytes; a run uses about half


def choose_folder() -> Path:
    """Return the path of a new folder, in memory if there is room.

    Tests create and delete hundreds of databases, each with a thousand files.
    """
    parent = MEMORY if MEMORY.is_dir() and _has_room(MEMORY) else DISK
    return parent / f"kmapp-tests-{uuid.uuid4().hex[:8]}"


def _has_room(folder: Path) -> bool:
    """Whether the data fit, and programs in the folder may run: as root, PostgreSQL is copied."""
    status = os.statvfs(folder)
    unused = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    room = min(status.f_bavail * status.f_frsize, unused)
    return room >= ROOM and not status.f_flag & os.ST_NOEXEC
