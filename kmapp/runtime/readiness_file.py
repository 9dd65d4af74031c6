"""Announcement by a process that it can serve, for its supervisor. No Django."""

import os
from pathlib import Path

VARIABLE = "KMAPP_READY_FILE"


def announce_ready() -> None:
    """Create the file that the supervisor waits for, if it waits for one."""
    if path := os.environ.get(VARIABLE):
        Path(path).touch()
