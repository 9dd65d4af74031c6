"""File locks that let one process per host run heavy handlers; the kernel frees them at exit."""

import fcntl
from contextlib import ExitStack
from pathlib import Path
from typing import IO

from django.conf import settings
from django.db import connection


class HostLocks(ExitStack):
    """The locks of this process; leaving the context releases them."""

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[str, bool] = {}

    def acquire(self, handler: str) -> bool:
        """Return whether this process may run the handler. The first result is cached."""
        if handler not in self.held:
            self.held[handler] = self._acquire(handler)
        return self.held[handler]

    def _acquire(self, handler: str) -> bool:
        # Per database, because deployments may share a folder.
        name = f"{handler}@{connection.settings_dict['NAME']}.lock"
        path: Path = settings.DATA_DIR / name
        path.parent.mkdir(parents=True, exist_ok=True)  # a worker stores nothing else there
        file: IO[str] = path.open("a")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return False
        self.enter_context(file)
        return True
