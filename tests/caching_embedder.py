"""Embedding server that computes the vector of each text once. Run as a module.

Many tests write the same texts, and the vector depends only on the text and its kind. The workers
do not wait for each other, because several threads can use the model at once.
"""

import sys
from collections.abc import Iterable
from http.server import ThreadingHTTPServer

import numpy as np

from kmapp.runtime.embedded.e5.encoder import Encoder
from kmapp.runtime.embedded.e5.model_file import Floats
from kmapp.runtime.embedded.e5.server import Handler


class CachingEncoder(Encoder):
    """The model, with the vectors of all texts so far."""

    def __init__(self) -> None:
        super().__init__()
        self.vectors: dict[tuple[str, bool], Floats] = {}

    def encode(self, texts: Iterable[str], is_query: bool) -> Floats:  # noqa: FBT001 - as the base
        keys = [(text, is_query) for text in texts]
        missing = [key for key in dict.fromkeys(keys) if key not in self.vectors]
        if missing:
            computed = super().encode([text for text, _ in missing], is_query)
            self.vectors.update(zip(missing, computed, strict=True))
        return np.stack([self.vectors[key] for key in keys])


def main(host: str, port: int) -> None:
    Handler.model = CachingEncoder()
    ThreadingHTTPServer((host, port), Handler).serve_forever()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
