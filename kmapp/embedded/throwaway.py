"""All embedded parts in a folder that is gone afterwards: for tests."""

import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from kmapp.embedded.embedder import Embedder
from kmapp.embedded.postgres import Postgres
from kmapp.embedded.valkey import Valkey


@dataclass(frozen=True)
class Throwaway:
    folder: Path
    postgres: Postgres
    valkey: Valkey
    embedder: Embedder


@contextmanager
def throwaway(*, durable: bool = False) -> Iterator[Throwaway]:
    """Yield a running Postgres, Valkey and embedder; nothing of them is left afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="kmapp-"))
    folder.chmod(0o711)  # Postgres may be another account; its own folders are closed
    parts = Throwaway(
        folder,
        Postgres(folder / "postgres", folder / "pg", folder / "postgres.log", durable=durable),
        Valkey(folder / "valkey", folder / "valkey.sock", folder / "valkey.log"),
        Embedder(free_port(), folder / "embedder.log"),
    )
    try:
        with ExitStack() as stack:
            for part in (parts.postgres, parts.valkey, parts.embedder):
                stack.enter_context(part)
            yield parts
    finally:
        shutil.rmtree(folder)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
