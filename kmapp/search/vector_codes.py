"""Codes of vectors: one bit for each dimension, to choose those that are compared exactly. Pure.

A code has the signs of a vector relative to a centre. At 384 dimensions it takes 48 bytes instead
of 768, so all vectors of a reader group are read at once. The nearest are chosen in two steps: by
the number of different bits, then by the product of the query with the signs, which is more exact.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

WORD = 8  # bytes; the length of a code is a multiple of it
PRODUCTS_PER_RESULT = 4  # codes with the fewest different bits whose product is computed
WIDENED_FROM = 80_000  # codes; of more of them, more products are computed
CHUNK = 32_768  # codes that are compared at a time, so that results stay in the processor's cache

Vectors: TypeAlias = NDArray[np.float32]
Words: TypeAlias = NDArray[np.uint64]


@dataclass(frozen=True, slots=True, eq=False)
class Codes:
    """Codes with the numbers of their documents.

    `words` has a row for each 64 bits and a column for each document: numpy reads rows fast.
    """

    numbers: NDArray[np.uint32]
    words: Words

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def columns(self) -> "tuple[NDArray[np.uint32], Words]":
        return (self.numbers, self.words)


def build_code_type(dimensions: int) -> "np.dtype[np.void]":
    """Return the type of one code in an array: the number of its document, and its bits."""
    size = -(-dimensions // (8 * WORD)) * WORD
    return np.dtype([("number", ">u4"), ("bits", "u1", (size,))])


def unpack_codes(packed: bytes, dimensions: int) -> Codes:
    size = build_code_type(dimensions)["bits"].itemsize
    code = np.dtype([("number", ">u4"), ("words", np.uint64, (size // WORD,))])
    items = np.frombuffer(packed, dtype=code)
    return Codes(items["number"].astype(np.uint32), items["words"].T.copy())


@dataclass(frozen=True, slots=True)
class Coder:
    """Codes relative to the centre, which is about the mean of the vectors."""

    centre: Vectors

    @property
    def type(self) -> "np.dtype[np.void]":
        return build_code_type(len(self.centre))

    def encode(self, numbers: Sequence[int], vectors: Vectors) -> bytes:
        """Return the codes of these vectors, each with the number of its document."""
        codes = np.zeros(len(numbers), dtype=self.type)
        codes["number"] = numbers
        bits = np.packbits(vectors > self.centre, axis=1)
        codes["bits"][:, : bits.shape[1]] = bits
        return codes.tobytes()

    def find_nearest(self, codes: Sequence[Codes], query: Vectors, limit: int) -> list[int]:
        """Return the numbers of the documents with about `limit` nearest codes, in no order.

        `codes` may have several parts, such as one for each reader group.
        """
        encoded = unpack_codes(self.encode([0], query[np.newaxis]), len(self.centre)).words[:, 0]
        differences = [_count_differences(each.words, encoded) for each in codes]
        products = count_products(sum(map(len, codes)), limit)
        threshold = _choose_threshold(differences, products)
        places = [np.flatnonzero(each <= threshold) for each in differences]
        numbers = np.concatenate(
            [each.numbers[own] for each, own in zip(codes, places, strict=True)]
        )
        rows = [each.words[:, own].T for each, own in zip(codes, places, strict=True)]
        distances = -self._multiply_signs(np.concatenate(rows), query)
        if len(distances) > limit:
            numbers = numbers[distances <= np.partition(distances, limit - 1)[limit - 1]]
        return [int(number) for number in np.unique(numbers)]

    def _multiply_signs(self, words: Words, query: Vectors) -> Vectors:
        """Return the product of the query with the signs of each code, relative to the centre."""
        codes = np.ascontiguousarray(words).view(np.uint8)
        size = codes.shape[1]
        relative = np.zeros(8 * size, dtype=np.float32)
        relative[: len(self.centre)] = query - self.centre
        bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, np.newaxis], axis=1)
        products = bits.astype(np.float32) @ relative.reshape(size, 8).T  # of each byte, by place
        sums: Vectors = products[codes, np.arange(size)].sum(axis=1)
        return sums


def count_products(codes: int, limit: int) -> int:
    """Return for how many of so many codes the product is computed.

    A fixed number is a smaller share of more codes, and contains fewer of the nearest vectors.
    """
    return int(PRODUCTS_PER_RESULT * limit * math.sqrt(max(1.0, codes / WIDENED_FROM)))


def _count_differences(words: Words, encoded: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """Return in how many bits each code differs from one other code."""
    differences = np.zeros(words.shape[1], dtype=np.uint16)
    different = np.empty(min(CHUNK, len(differences)), dtype=np.uint64)
    counts = np.empty(len(different), dtype=np.uint8)
    for start in range(0, len(differences), CHUNK):
        total = differences[start : start + CHUNK]
        size = len(total)
        for row, other in zip(words, encoded, strict=True):
            np.bitwise_xor(row[start : start + size], other, out=different[:size])
            np.bitwise_count(different[:size], out=counts[:size])
            total += counts[:size]
    return differences


def _choose_threshold(differences: Sequence[NDArray[Any]], limit: int) -> int:
    """Return the number of differences up to which there are at least `limit` codes, if so many."""
    totals = np.bincount(np.concatenate(differences)).cumsum()
    return int(np.searchsorted(totals, limit))
