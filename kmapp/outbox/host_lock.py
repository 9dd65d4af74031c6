"""Locks that let one process per host run heavy handlers.

The lock is the kernel's: it ends with whoever holds it, however that ends.
"""

import fcntl
from contextlib import ExitStack
from typing import IO

from django.conf import settings
from django.db import connection


class Turns(ExitStack):
    """The turns that this process took; leaving gives them back."""

    def __init__(self) -> None:
        super().__init__()
        self.held: dict[str, bool] = {}

    def mine(self, handler: str) -> bool:
        """Whether it is ours to run this handler; what was answered once stays so."""
        if handler not in self.held:
            self.held[handler] = self._acquire(handler)
        return self.held[handler]

    def _acquire(self, handler: str) -> bool:
        # Of one database: deployments that share a folder do not wait for each other.
        name = f"{handler}@{connection.settings_dict['NAME']}.lock"
        file: IO[str] = (settings.DATA_DIR / name).open("a")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            return False
        self.enter_context(file)
        return True
