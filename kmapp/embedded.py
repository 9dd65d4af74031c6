"""The parts that kmapp brings along: where each one lives and how to start it.

Settings import the addresses, the supervisor and the tests the processes. No Django here.
"""

import hashlib
import os
from pathlib import Path

DATABASE = "kmapp"
SUPERUSER = "postgres"
OWNER = "kmapp_owner"
APP = "kmapp_app"


def runtime_dir(data_dir: Path) -> Path:
    """Where the sockets of this data folder are.

    Always below /tmp: a socket's path holds at most 103 bytes, and XDG_RUNTIME_DIR or TMPDIR may
    differ between the shell that runs the product and the one that asks it something.
    """
    mark = hashlib.sha256(bytes(data_dir.resolve())).hexdigest()[:12]
    return Path("/tmp", f"kmapp-{os.getuid()}-{mark}")  # noqa: S108 (made 0700, owner checked)


def database_url(data_dir: Path, role: str) -> str:
    """Address of the embedded database for a role; the socket's folder is the `host` parameter."""
    return f"postgresql://{role}@/{DATABASE}?host={runtime_dir(data_dir)}"


def redis_url(data_dir: Path) -> str:
    """Address of the embedded Valkey as redis-py spells it (Celery says redis+socket://)."""
    return f"unix://{runtime_dir(data_dir)}/valkey.sock"
