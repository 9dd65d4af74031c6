"""Files in which the processes of a host share their metrics. No Django."""

import os
from pathlib import Path

from kmapp.runtime import embedded
from kmapp.runtime.embedded.postgres_memory import SHARED_MEMORY


def get_metrics_folder(data_dir: Path) -> Path:
    """Return the folder of the files, in memory if possible.

    The files are mapped: where a disk is full or read-only, the kernel ends a process that writes
    to another page of them (SIGBUS).
    """
    runtime = embedded.get_runtime_dir(data_dir)
    in_memory = os.access(SHARED_MEMORY, os.W_OK | os.X_OK)
    return SHARED_MEMORY / f"{runtime.name}-metrics" if in_memory else runtime / "metrics"


def delete_metrics_of_ended_processes(folder: Path) -> None:
    """Delete the files of processes that no longer run.

    prometheus_client adds their counters to those of their successors, and a gauge of a killed
    process never changes again.
    """
    for file in folder.glob("*.db"):
        pid = file.stem.rpartition("_")[2]
        if pid.isdigit() and not _is_running(int(pid)):
            file.unlink(missing_ok=True)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it runs as another user
        return True
    return True
