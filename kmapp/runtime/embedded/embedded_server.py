"""Shared parts of the embedded servers."""

import os
import stat
import subprocess
from abc import ABC, abstractmethod
from importlib.util import find_spec
from pathlib import Path
from typing import Self

from kmapp.runtime import processes
from kmapp.runtime.processes import CannotStart, Program, read_tail


class EmbeddedServer(ABC):
    """One embedded program. The supervisor runs its `program()`; tests call `start` and `stop`."""

    log: Path
    process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def prepare(self) -> None:
        """Create the required folders; safe to repeat."""

    @abstractmethod
    def program(self) -> Program: ...

    def start(self) -> Self:
        self.prepare()
        program = self.program()
        process = self.process = processes.start(program, self.log)
        started = processes.wait_until(
            lambda: process.poll() is not None or program.ready(), program.patience
        )
        if process.poll() is not None or not started:
            processes.kill_session(process)
            raise CannotStart(f"{program.name} did not start:\n{read_tail(self.log)}")
        return self

    def stop(self) -> None:
        if self.process:
            processes.stop(self.process, self.program())
            self.process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()


def find_package_folder(name: str) -> Path:
    spec = find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise CannotStart(f"The package {name} is not installed. Install kmapp again.")
    return Path(spec.submodule_search_locations[0])


def make_runtime_dir(path: Path) -> None:
    """Create the folder of the sockets."""
    # As root, Postgres has another account and must traverse the folder.
    make_owned_dir(path, mode=0o711 if os.getuid() == 0 else 0o700)


def make_owned_dir(path: Path, *, mode: int = 0o700) -> None:
    """Create a folder where all accounts may create some; another one may have created it."""
    path.mkdir(mode=mode, exist_ok=True)
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise CannotStart(f"{path} is not owned by this user. Remove it and start again.")
    path.chmod(mode)
