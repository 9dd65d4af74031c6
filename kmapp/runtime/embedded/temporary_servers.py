"""Embedded servers in a temporary folder, for benchmarks and experiments.

    python -m kmapp.runtime.embedded.temporary_servers -m kmapp perf bench --here

runs a command against an empty, migrated database that nothing else uses. No Django: the settings
of the command follow from its environment.
"""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from kmapp.runtime import embedded
from kmapp.runtime.embedded.embedded_server import make_runtime_dir
from kmapp.runtime.embedded.embedding_server import EmbeddingServer
from kmapp.runtime.embedded.postgres import Postgres
from kmapp.runtime.embedded.valkey import Valkey

# Variables with which a command would use real data.
REAL_DATA_VARIABLES = (
    *("DATABASE_URL", "DATABASE_OWNER_URL", "DATABASE_SUPERUSER_URL", "DATABASE_REPLICA_URL"),
    "REDIS_URL",
    *("EMBEDDING_BASE_URL", "EMBEDDING_BATCH_BASE_URL", "OPENAI_BASE_URL"),
)


@contextmanager
def run_servers() -> Iterator[dict[str, str]]:
    """Start all servers and yield the environment of their clients."""
    with ExitStack() as stack:
        data = Path(tempfile.mkdtemp(prefix="kmapp-throwaway-"))
        stack.callback(shutil.rmtree, data, ignore_errors=True)
        data.chmod(0o711)  # Postgres may run as another account
        sockets = embedded.get_runtime_dir(data)
        make_runtime_dir(sockets)
        stack.callback(shutil.rmtree, sockets, ignore_errors=True)
        ports = [free_port(), free_port()]
        for part in (
            Postgres(data / "postgres", embedded.get_postgres_sockets(data), data / "postgres.log"),
            Valkey(data / "valkey", embedded.get_valkey_socket(data), data / "valkey.log"),
            EmbeddingServer(ports[0], data / "embedder-query.log", "embedder-query"),
            EmbeddingServer(
                ports[1], data / "embedder-batch.log", "embedder-batch", low_priority=True
            ),
        ):
            stack.enter_context(part)
        inherited = {
            name: value for name, value in os.environ.items() if name not in REAL_DATA_VARIABLES
        }
        yield inherited | {
            "KMAPP_DATA_DIR": str(data),
            "EMBEDDER_QUERY_PORT": str(ports[0]),
            "EMBEDDER_BATCH_PORT": str(ports[1]),
        }


def prepare(environment: dict[str, str]) -> None:
    for words in (
        ["provision"],
        ["migrate", "--no-input", "--verbosity", "0"],
        ["embedding_models", "ensure"],
    ):
        run(["-m", "kmapp", *words], environment, stdout=subprocess.DEVNULL)


def run(words: Sequence[str], environment: dict[str, str], stdout: int | None = None) -> None:
    subprocess.run([sys.executable, *words], env=environment, stdout=stdout, check=True)  # noqa: S603


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    with run_servers() as there:
        prepare(there)
        run(sys.argv[1:], there)
