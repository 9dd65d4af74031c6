"""The embedding server of a test run."""

import sys
from dataclasses import replace
from pathlib import Path

from kmapp.runtime.embedded.embedding_server import HOST, EmbeddingServer
from kmapp.runtime.processes import Program

SCRIPT = Path(__file__).with_name("caching_embedder.py")


class CachingEmbeddingServer(EmbeddingServer):
    """A server with the product's model that computes the vectors of equal texts once."""

    def program(self) -> Program:
        argv = [sys.executable, "-I", str(SCRIPT), HOST, str(self.port)]
        return replace(super().program(), argv=argv)
