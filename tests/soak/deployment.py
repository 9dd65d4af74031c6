"""A whole deployment of its own under `manage.py up`, and its processes, to be hurt."""

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
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from kmapp.runtime import embedded
from kmapp.runtime.embedded.temporary import free_port

BASE = Path(__file__).resolve().parents[2]
PATIENCE = 300  # seconds to start, or to stop
NOT_OURS = ("DATABASE_URL", "DATABASE_OWNER_URL", "REDIS_URL", "EMBEDDING_BASE_URL")


@dataclass
class Deployment:
    """What `make up` gives, in a folder of its own."""

    home: Path
    environment: dict[str, str]
    port: int
    process: subprocess.Popen[bytes] | None = None
    killed: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    @property
    def said(self) -> Path:
        return self.home / "up.log"

    def start(self) -> None:
        with self.said.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "up"],
                cwd=BASE,
                env=self.environment,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        began = time.monotonic()
        while b"Ctrl-C stops everything" not in self.said.read_bytes():
            if self.process.poll() is not None or time.monotonic() - began > PATIENCE:
                raise RuntimeError(self.said.read_text())
            time.sleep(0.2)

    def stop(self) -> None:
        if self.process:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(PATIENCE)

    def command(self, *words: str) -> subprocess.CompletedProcess[str]:
        """One of the management commands, as an operator would run it beside the product."""
        return subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=BASE,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )

    # --- Its processes ----------------------------------------------------------------------------

    def programs(self) -> dict[str, list[int]]:
        """The processes of each program: its own first, then its descendants."""
        file = self.home / "up.pid"
        children = json.loads(file.read_text())["children"] if file.exists() else []
        below = _below()
        return {child["name"]: [child["pid"], *_all(below, child["pid"])] for child in children}

    def kill_one(self, dice: random.Random) -> str:
        """End one process of any program at once, without a word. Tells which program's."""
        programs = self.programs()
        name = dice.choice(sorted(programs))
        with suppress(ProcessLookupError):  # it may just have ended
            os.kill(dice.choice(programs[name]), signal.SIGKILL)
            self.killed[name] += 1
        return name

    def memory(self) -> float:
        """What all processes hold, in MB: each its share of what they share (PSS)."""
        pids = [pid for processes in self.programs().values() for pid in processes]
        return sum(map(_share, pids)) / 1024


def _below() -> dict[int, list[int]]:
    listed = subprocess.run(
        ["ps", "-e", "-o", "pid=,ppid="], capture_output=True, text=True, check=True
    )
    below = defaultdict(list)
    for line in listed.stdout.splitlines():
        pid, parent = map(int, line.split())
        below[parent].append(pid)
    return below


def _all(below: dict[int, list[int]], pid: int) -> Iterator[int]:
    for child in below.get(pid, ()):
        yield child
        yield from _all(below, child)


def _share(pid: int) -> int:
    """In kB; nothing of a process that has just ended."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


@contextmanager
def deployment() -> Iterator[Deployment]:
    """One that runs, and is gone afterwards; its logs stay where it fails to start."""
    home = Path(tempfile.mkdtemp(prefix="kmapp-soak-"))
    home.chmod(0o711)  # Postgres may be another account; its own folders are closed
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
    }
    made = Deployment(home, environment, port)
    try:
        made.start()
        yield made
    finally:
        made.stop()
    shutil.rmtree(home)
    shutil.rmtree(embedded.runtime_dir(home), ignore_errors=True)
