"""Files in which the processes of a host share their metrics."""

import os
import subprocess
import sys
from pathlib import Path

from kmapp.runtime.metrics_files import delete_metrics_of_ended_processes


def test_metrics_of_ended_processes_are_deleted(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    remaining = {f"counter_{os.getpid()}.db", f"gauge_livemax_{os.getpid()}.db", "notes.db"}
    for name in (*remaining, f"counter_{ended.pid}.db", f"gauge_livemax_{ended.pid}.db"):
        (tmp_path / name).touch()
    delete_metrics_of_ended_processes(tmp_path)
    assert {file.name for file in tmp_path.iterdir()} == remaining
