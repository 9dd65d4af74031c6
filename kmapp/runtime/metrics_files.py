"""Files in which the processes of a host share their metrics. No Django."""

import os
from pathlib import Path


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
