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
Indices = NDArray[np.integer[Any]]
DIMENSIONS = 128  # the first of 256; the model is trained so that they can be used alone
CAPACITY = 40_000  # words
MAX_CACHED_TEXTS = 30_000
# Vectors are whole numbers, and their length is about `SCALE`. So each term and each partial sum of
# a product of two is a whole number of at most 518², far below 2^24, and exact in single precision.
# A product does not depend on the order of its sum, and is the same in each search.
SCALE = 512
# OpenBLAS uses threads for larger products of matrices, which would wait for each other on a busy
# machine.
MAX_MULTIPLICATIONS = 2**18


def compare_words(query: Sequence[str], texts: Sequence[tuple[str, ...]]) -> Floats:
    """Return the cosine of each query word (column) and the nearest word of each text (row).

    0 for a text without words.
    """
    vectors = _get_word_vectors()
    nearest = np.zeros((len(texts), len(query)), np.float32)
    lengths = np.array([len(words) for words in texts])
    if query and lengths.any():
        rows = np.concatenate([vectors.list_rows_of_text(words) for words in texts])
        distinct, places = _list_distinct(rows, len(vectors.rows))
        query_vectors = vectors.rows[vectors.list_rows(query)]
        products = _multiply(query_vectors, vectors.rows.take(distinct, axis=0))
        by_occurrence = products.take(places, axis=0)
        starts = (lengths.cumsum() - lengths)[lengths > 0]
        nearest[lengths > 0] = np.maximum.reduceat(by_occurrence, starts) / SCALE**2
    return nearest


def _list_distinct(rows: Indices, capacity: int) -> tuple[Indices, Indices]:
    """Return the distinct rows and the place of each row among them, faster than `np.unique`."""
    occurs = np.zeros(capacity, np.bool_)
    occurs[rows] = True
    distinct = np.flatnonzero(occurs)
    places = np.empty(capacity, np.intp)
    places[distinct] = np.arange(len(distinct))
    return distinct, places[rows]


def _multiply(query: Floats, words: Floats) -> Floats:
    """Return the product of each word (row) with each word of the query (column)."""
    batch_size = max(1, MAX_MULTIPLICATIONS // query.size)
    batches = np.split(words, range(batch_size, len(words), batch_size))
    return np.concatenate([batch @ query.T for batch in batches], dtype=np.float32)


class WordVectors:
    """The vectors of the words that occurred so far, of length `SCALE`, in a row each."""

    def __init__(self) -> None:
        self.positions: dict[str, int] = {}
        self.rows: Floats = np.zeros((CAPACITY, DIMENSIONS), np.float32)
        self.lock = Lock()
        self._rows_by_text: dict[tuple[str, ...], Indices] = {}

    def list_rows_of_text(self, words: tuple[str, ...]) -> Indices:
        """Return the row of each word; cached, because texts are candidates again and again."""
        rows = self._rows_by_text.get(words)
        if rows is None:
            if len(self._rows_by_text) >= MAX_CACHED_TEXTS:
                self._rows_by_text.clear()
            rows = self._rows_by_text[words] = np.array(self.list_rows(words), np.int32)
        return rows

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
