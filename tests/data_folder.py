"""Where the servers of the tests store their data. No Django."""

import uuid
from pathlib import Path

from kmapp.runtime.embedded.postgres_memory import SHARED_MEMORY, Machine, measure_machine

DISK = Path("/tmp")  # noqa: S108
MOST_DATA = 4096  # megabytes, several times what the servers of a run store


def choose_parent(machine: Machine) -> Path:
    """Return a folder in memory if the machine has enough, otherwise one on a disk.

    Hundreds of tests copy a database, which is a thousand files.
    """
    is_enough = min(machine.shared, machine.memory // 2) >= MOST_DATA
    return SHARED_MEMORY if is_enough else DISK


def name_data_folder() -> str:
    """Return a path for the data of one run, which does not exist yet."""
    return str(choose_parent(measure_machine()) / f"kmapp-tests-{uuid.uuid4().hex[:8]}")
