"""A deployment under `manage.py up` whose processes can be killed."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from kmapp.runtime import embedded
from kmapp.runtime.embedded.temporary_servers import free_port

BASE = Path(__file__).resolve().parents[2]
PATIENCE = 300  # seconds to start, or to stop
NOT_OURS = ("DATABASE_URL", "DATABASE_OWNER_URL", "REDIS_URL", "EMBEDDING_BASE_URL")


@dataclass
class Deployment:
    """The product of `make up` in a folder of its own."""

    home: Path
    environment: dict[str, str]
    port: int
    process: subprocess.Popen[bytes] | None = None
    killed: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    @property
    def output(self) -> Path:
        return self.home / "up.log"

    def start(self) -> None:
        with self.output.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "up"],
                cwd=BASE,
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        began = time.monotonic()
        while b"Ctrl-C stops everything" not in self.output.read_bytes():
            if self.process.poll() is not None or time.monotonic() - began > PATIENCE:
                raise RuntimeError(self.output.read_text())
            time.sleep(0.2)

    def stop(self) -> None:
        if self.process:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(PATIENCE)

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a management command beside the product."""
        return subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=BASE,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def warnings(self) -> str:
        """Return the warnings and errors that the product has logged."""
        lines = self.output.read_text(errors="replace").splitlines()
        return "\n".join(line for line in lines if "warning" in line or "error" in line)

    # --- Processes --------------------------------------------------------------------------------

    def programs(self) -> dict[str, list[int]]:
        """Return the processes of each program: its own first, then its descendants."""
        file = self.home / "up.pid"
        children = json.loads(file.read_text())["children"] if file.exists() else []
        children_of = _list_children()
        return {
            child["name"]: [child["pid"], *_list_descendants(children_of, child["pid"])]
            for child in children
        }

    def kill_one(self, dice: random.Random) -> str:
        """Kill a random process; return the name of its program."""
        programs = self.programs()
        name = dice.choice(sorted(programs))
        with suppress(ProcessLookupError):  # it has just ended
            os.kill(dice.choice(programs[name]), signal.SIGKILL)
            self.killed[name] += 1
        return name

    def memory(self) -> float:
        """Return the memory of all processes in MB (PSS), without PostgreSQL's shared buffers.

        These fill up to their limit, which depends on the machine.
        """
        pids = [pid for processes in self.programs().values() for pid in processes]
        return sum(map(pss, pids)) / 1024


def _list_children() -> dict[int, list[int]]:
    process_list = subprocess.run(
        ["ps", "-e", "-o", "pid=,ppid="], capture_output=True, text=True, check=True
    )
    children_of = defaultdict(list)
    for line in process_list.stdout.splitlines():
        pid, parent = map(int, line.split())
        children_of[parent].append(pid)
    return children_of


def _list_descendants(children_of: dict[int, list[int]], pid: int) -> Iterator[int]:
    for child in children_of.get(pid, ()):
        yield child
        yield from _list_descendants(children_of, child)


def pss(pid: int) -> int:
    """Return the PSS without shared memory in kB, or 0 for a process that has ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    sizes = {line.split()[0]: int(line.split()[1]) for line in lines if line.startswith("Pss")}
    return sizes.get("Pss:", 0) - sizes.get("Pss_Shmem:", 0)


@contextmanager
def deployment(more: Mapping[str, str] | None = None) -> Iterator[Deployment]:
    """Run a deployment and delete it afterwards; its logs stay if it fails to start.

    `more` are environment variables.
    """
    home = Path(tempfile.mkdtemp(prefix="kmapp-soak-"))
    home.chmod(0o711)  # Postgres may run as another user
    port = free_port()
    environment = {name: value for name, value in os.environ.items() if name not in NOT_OURS} | {
        "DJANGO_SETTINGS_MODULE": "kmapp.settings",
        "KMAPP_DATA_DIR": str(home),
        "PORT": str(port),
        "MCP_PORT": "0",
        "EMBEDDER_QUERY_PORT": str(free_port()),
        "EMBEDDER_BATCH_PORT": str(free_port()),
        "THROTTLE_WRITE_PER_MINUTE": "1000000",
        "THROTTLE_RECALL_PER_MINUTE": "1000000",
        "LOG_LEVEL": "WARNING",
        **(more or {}),
    }
    created = Deployment(home, environment, port)
    keep = False
    try:
        try:
            created.start()
        except RuntimeError:
            keep = True
            raise
        yield created
    finally:
        created.stop()
        if not keep:
            shutil.rmtree(home)
            shutil.rmtree(embedded.get_runtime_dir(home), ignore_errors=True)
