"""The embedding server of a test run."""

import sys
from dataclasses import replace

from kmapp.runtime.embedded.embedding_server import HOST, EmbeddingServer
from kmapp.runtime.processes import Program


class CachingEmbeddingServer(EmbeddingServer):
    """A server with the product's model that computes the vectors of equal texts once."""

    def program(self) -> Program:
        argv = [sys.executable, "-m", "tests.caching_embedder", HOST, str(self.port)]
        return replace(super().program(), argv=argv)
