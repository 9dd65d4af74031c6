"""The whole product in a temporary folder, for measurements."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kmapp.runtime.embedded.temporary_servers import REAL_DATA_VARIABLES, free_port

START_SECONDS = 120
STOP_SECONDS = 60
PORTS = ("PORT", "MCP_PORT", "EMBEDDER_QUERY_PORT", "EMBEDDER_BATCH_PORT")


@dataclass(frozen=True, slots=True)
class Product:
    """Addresses of a running product, and an API key with all scopes."""

    url: str
    mcp_url: str
    key: str


@contextmanager
def run_temporary_product() -> Iterator[Product]:
    """Run `kmapp up` on free ports. Raise RuntimeError with its output if it does not start."""
    folder = Path(tempfile.mkdtemp(prefix="kmapp-bench-"))
    folder.chmod(0o711)  # Postgres may run as another account
    ports = {name: str(free_port()) for name in PORTS}
    inherited = {
        name: value for name, value in os.environ.items() if name not in REAL_DATA_VARIABLES
    }
    log = folder / "up.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "kmapp", "up"],
            env=inherited | ports | {"KMAPP_DATA_DIR": str(folder / "data")},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        _wait_until_ready(process, log)
        credentials = json.loads((folder / "data" / "credentials.json").read_text())
        yield Product(
            f"http://127.0.0.1:{ports['PORT']}",
            f"http://127.0.0.1:{ports['MCP_PORT']}/mcp",
            credentials["api_key"],
        )
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(STOP_SECONDS)
        shutil.rmtree(folder, ignore_errors=True)


def _wait_until_ready(process: "subprocess.Popen[bytes]", log: Path) -> None:
    began = time.monotonic()
    while "Ctrl-C stops everything" not in log.read_text():
        if process.poll() is not None or time.monotonic() - began > START_SECONDS:
            raise RuntimeError(f"kmapp did not start:\n{log.read_text()}")
        time.sleep(0.2)
