"""The embedded servers, so that nothing else must be installed. No Django.

This module computes their addresses from the data folder; the settings import nothing else. The
other modules run the servers, for the supervisor and for tests.
"""

import hashlib
import os
from pathlib import Path

DATABASE = "kmapp"
ROLES = {"superuser": "postgres", "owner": "kmapp_owner", "app": "kmapp_app"}


def get_runtime_dir(data_dir: Path) -> Path:
    """Return the folder of the sockets.

    Always below /tmp: a socket's path has at most 103 bytes, and XDG_RUNTIME_DIR or TMPDIR may
    differ between the shells of server and client.
    """
    mark = hashlib.sha256(bytes(data_dir.resolve())).hexdigest()[:12]
    return Path("/tmp", f"kmapp-{os.getuid()}-{mark}")  # noqa: S108 - made private in embedded_server.py


def get_postgres_sockets(data_dir: Path) -> Path:
    """Return a folder for the sockets; as root, Postgres runs as another user."""
    return get_runtime_dir(data_dir) / "pg"


def get_valkey_socket(data_dir: Path) -> Path:
    return get_runtime_dir(data_dir) / "valkey.sock"


def database_url(data_dir: Path, role: str) -> str:
    return f"postgresql://{ROLES[role]}@/{DATABASE}?host={get_postgres_sockets(data_dir)}"


def server_url(data_dir: Path) -> str:
    return f"postgresql://{ROLES['superuser']}@/postgres?host={get_postgres_sockets(data_dir)}"


def redis_url(data_dir: Path) -> str:
    return f"unix://{get_valkey_socket(data_dir)}"
