"""The Debian package faketime: it gives processes another time of day."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path

import pytest

from kmapp.runtime.embedded.postgres import Postgres
from kmapp.runtime.processes import Program
from tests.chaos.product import BASE

LIBRARY = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)
is_required = pytest.mark.skipif(
    LIBRARY is None, reason="the Debian package faketime is not installed"
)
CACHED = 1  # seconds for which a process caches the offset that it has read
PRELOADED = {"LD_PRELOAD": str(LIBRARY), "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
# The folder replaces `time.sleep`; see its module for the reason.
PYTHON = {"PYTHONPATH": f"{BASE / 'tests/chaos/otherclock'}:{BASE}"}


@dataclass(frozen=True, slots=True)
class Clock:
    """A clock of a host that can step while its processes run."""

    file: Path

    def set(self, off: timedelta = timedelta(0)) -> None:
        """Set the offset of the clock, and wait until all processes use it."""
        new = self.file.with_suffix(".new")  # a process may read while we write
        new.write_text(f"{off.total_seconds():+.0f}")
        new.chmod(0o644)
        new.replace(self.file)
        time.sleep(2 * CACHED + 1)

    def environment(self) -> Mapping[str, str]:
        """Return the environment of a process under this clock.

        The library reads the file when a process asks for the time. That is not safe in a signal
        handler, such as those of PostgreSQL; the cache makes it rare.
        """
        return PRELOADED | {
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            "FAKETIME_CACHE_DURATION": str(CACHED),
        }


@dataclass
class SteppingPostgres(Postgres):
    """A server under this clock."""

    clock: Clock = None  # type: ignore[assignment]  # the fields before it have defaults

    def program(self) -> Program:
        """Return the server, which loads the library after the change of its user.

        The user of the process must own the shared memory of the library.
        """
        program = super().program()
        variables = [f"{name}={value}" for name, value in self.clock.environment().items()]
        return replace(program, argv=["/usr/bin/env", *variables, *program.argv])
