"""The embedded embedding server: OpenAI-compatible, with its model, on 127.0.0.1 only.

The product runs two: one for queries, and one for passages at the lowest priority, so that searches
do not wait for an import. A query uses one thread; passages use every processor that is idle.
"""

import sys
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from kmapp.runtime.embedded.embedded_server import EmbeddedServer
from kmapp.runtime.processes import Program, http_get

HOST = "127.0.0.1"
LOWEST_PRIORITY = 19
MODULE = "kmapp.runtime.embedded.e5.server"


@dataclass
class EmbeddingServer(EmbeddedServer):
    port: int
    log: Path
    name: str = "embedder"
    low_priority: bool = False

    def prepare(self) -> None:
        """Do nothing: the model is in a wheel."""

    def program(self) -> Program:
        command = ["-m", MODULE, "--host", HOST, "--port", str(self.port)]
        if self.low_priority:
            command.append("--for-passages")
        return Program(
            name=self.name,
            argv=[sys.executable, *command],
            ready=self._responds,
            nice=LOWEST_PRIORITY if self.low_priority else 0,
        )

    def url(self) -> str:
        return f"http://{HOST}:{self.port}/v1"

    def _responds(self) -> bool:
        with suppress(OSError):
            return http_get(HOST, self.port, "/health", seconds=2)[0] == HTTPStatus.OK
        return False
