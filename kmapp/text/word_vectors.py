"""Static vectors of words: how similar words are in meaning, without their context. Pure.

The vectors are those of WordLlama (Miller, https://github.com/dleemiller/WordLlama): word pieces of
a language model, trained so that their mean represents a text. Its package contains them; only its
two data files are read.
"""

from collections.abc import Iterable, Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
DIMENSIONS = 128  # the first of 256; the model is trained so that they can be used alone
CAPACITY = 40_000  # words
# Vectors have whole numbers, whose products are exact: a sum does not depend on its order, so the
# cosine of two words is the same in each search.
SCALE = 512


def compare_words(query: Sequence[str], texts: Sequence[Sequence[str]]) -> Floats:
    """Return the cosine of each query word (column) and the nearest word of each text (row).

    0 for a text without words.
    """
    vectors = _get_word_vectors()
    flat = vectors.list_rows(word for words in texts for word in words)
    nearest = np.zeros((len(texts), len(query)), np.float32)
    if flat:
        # Not `@`, whose threads would wait for each other on a busy machine.
        products = np.einsum(
            "ij,kj->ik", vectors.rows[flat], vectors.rows[vectors.list_rows(query)]
        )
        lengths = np.array([len(words) for words in texts])
        starts = (lengths.cumsum() - lengths)[lengths > 0]
        nearest[lengths > 0] = np.maximum.reduceat(products, starts) / SCALE**2
    return nearest


class WordVectors:
    """The vectors of the words that occurred so far, of length `SCALE`, in a row each."""

    def __init__(self) -> None:
        self.positions: dict[str, int] = {}
        self.rows: Floats = np.zeros((CAPACITY, DIMENSIONS), np.float32)
        self.lock = Lock()

    def list_rows(self, words: Iterable[str]) -> list[int]:
        find = self.positions.get
        return [row if (row := find(word)) is not None else self._add(word) for word in words]

    def _add(self, word: str) -> int:
        with self.lock:
            row = self.positions.get(word, len(self.positions))
            if row < CAPACITY - 1:
                self.rows[row] = _compute_vector(word)
                self.positions[word] = row
            return row if row < CAPACITY - 1 else -1  # the last row stays 0: unlike any other

    @property
    def is_full(self) -> bool:
        return len(self.positions) > CAPACITY // 2


_current = WordVectors()


def _get_word_vectors() -> WordVectors:
    """Return the current vectors, or new ones if they are full. Running comparisons keep theirs."""
    global _current  # noqa: PLW0603
    if _current.is_full:
        _current = WordVectors()
    return _current


def _compute_vector(word: str) -> Floats:
    tokenizer, vectors = _load_model()
    pieces = tokenizer.encode(word, add_special_tokens=False).ids
    total = vectors[pieces].sum(0, dtype=np.float32)
    vector: Floats = np.round(total * (SCALE / max(float(np.linalg.norm(total)), 1e-9)))
    return vector


@cache
def _load_model() -> tuple[Any, NDArray[np.float16]]:
    """Return the tokenizer and the vectors of its word pieces, loaded on first use."""
    from safetensors import safe_open  # noqa: PLC0415
    from tokenizers import Tokenizer  # noqa: PLC0415

    package = find_spec("wordllama")
    if package is None or package.origin is None:
        raise ImportError("The package wordllama is missing. Install requirements.txt.")
    folder = Path(package.origin).parent
    tokenizer = Tokenizer.from_file(str(folder / "tokenizers/l2_supercat_tokenizer_config.json"))
    with safe_open(folder / "weights/l2_supercat_256.safetensors", "np") as file:
        vectors = file.get_tensor("embedding.weight")
    return tokenizer, np.ascontiguousarray(vectors[:, :DIMENSIONS], np.float16)
