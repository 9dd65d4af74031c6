"""Where the servers of the tests store their data. No Django."""

import fcntl
import os
import shutil
import uuid
from contextlib import suppress
from pathlib import Path

from kmapp.runtime.embedded.postgres_memory import SHARED_MEMORY, Machine, measure_machine

DISK = Path("/tmp")  # noqa: S108
MIN_FREE = 4096  # megabytes of memory, several times what the servers of a run store
PREFIX = "kmapp-run-"


def choose_parent(machine: Machine) -> Path:
    """Return a folder in memory if the machine has enough, otherwise one on a disk.

    Hundreds of tests copy a database, which is a thousand files.
    """
    is_enough = min(machine.shared, machine.memory // 2) >= MIN_FREE
    return SHARED_MEMORY if is_enough and _is_usable(SHARED_MEMORY) else DISK


def _is_usable(folder: Path) -> bool:
    """Return whether this user may write in a folder, and programs in it may run.

    PostgreSQL is copied to its data if its account cannot read the installation. Containers usually
    forbid programs in shared memory.
    """
    if not os.access(folder, os.W_OK | os.X_OK):
        return False
    return not os.statvfs(folder).f_flag & os.ST_NOEXEC


def name_data_folder() -> str:
    """Return a path for the data of one run, which does not exist yet."""
    return str(choose_parent(measure_machine()) / f"{PREFIX}{uuid.uuid4().hex[:8]}")


def create_data_folder(path: Path) -> int:
    """Create a folder and lock it; return the descriptor that holds the lock until it is closed."""
    new = path.with_name(f"new-{path.name}")  # `delete_leftovers` finds only locked folders
    new.mkdir(parents=True)
    descriptor = os.open(new, os.O_RDONLY)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    new.rename(path)
    return descriptor


def delete_leftovers(*parents: Path) -> None:
    """Delete the data of runs that were killed; in memory it would stay until a restart.

    The kernel releases the lock of a process that was killed.
    """
    for folder in (folder for parent in parents for folder in parent.glob(f"{PREFIX}*")):
        with suppress(OSError):  # it is of another user, or its run still holds the lock
            descriptor = os.open(folder, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder)
            finally:
                os.close(descriptor)
