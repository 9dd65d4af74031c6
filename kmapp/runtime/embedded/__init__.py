"""The embedded servers, so that nothing else must be installed.

Here are the addresses, which follow from the data folder; settings import nothing else. The
modules beside this one know how to run each part: for the supervisor, and for the tests. No Django.
"""

import hashlib
import os
from pathlib import Path

DATABASE = "kmapp"
ROLES = {"superuser": "postgres", "owner": "kmapp_owner", "app": "kmapp_app"}


def runtime_dir(data_dir: Path) -> Path:
    """Where the sockets of this data folder are.

    Always below /tmp: a socket's path holds at most 103 bytes, and XDG_RUNTIME_DIR or TMPDIR may
    differ between the shell that runs the product and the one that asks it something.
    """
    mark = hashlib.sha256(bytes(data_dir.resolve())).hexdigest()[:12]
    return Path("/tmp", f"kmapp-{os.getuid()}-{mark}")  # noqa: S108 - made private in part.py


def postgres_sockets(data_dir: Path) -> Path:
    """Return a folder for the sockets; as root, Postgres runs as another user."""
    return runtime_dir(data_dir) / "pg"


def valkey_socket(data_dir: Path) -> Path:
    return runtime_dir(data_dir) / "valkey.sock"


def database_url(data_dir: Path, role: str) -> str:
    """Address of the embedded database for a role: owner or app."""
    return f"postgresql://{ROLES[role]}@/{DATABASE}?host={postgres_sockets(data_dir)}"


def server_url(data_dir: Path) -> str:
    """Address of the embedded server for its superuser, in the database that is always there."""
    return f"postgresql://{ROLES['superuser']}@/postgres?host={postgres_sockets(data_dir)}"


def redis_url(data_dir: Path) -> str:
    """Address of the embedded Valkey as redis-py spells it."""
    return f"unix://{valkey_socket(data_dir)}"
