"""Codes of vectors: one bit for each dimension, to choose those that are compared exactly. Pure.

A code has the signs of a vector relative to a centre. At 384 dimensions it takes 48 bytes instead
of 768, so all vectors of a reader group are read at once. The nearest are chosen in two steps: by
the number of different bits, then by the product of the query with the signs, which is more exact.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

WORD = 8  # bytes; the length of a code is a multiple of it
PRODUCTS_PER_RESULT = 4  # codes with the fewest different bits whose product is computed

Vectors: TypeAlias = NDArray[np.float32]
Codes: TypeAlias = NDArray[np.void]


def build_code_type(dimensions: int) -> "np.dtype[np.void]":
    """Return the type of one code in an array: the number of its document, and its bits."""
    size = -(-dimensions // (8 * WORD)) * WORD
    return np.dtype([("number", ">u4"), ("bits", "u1", (size,))])


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

    def find_nearest(self, packed: Sequence[bytes], query: Vectors, limit: int) -> list[int]:
        """Return the numbers of the documents with about `limit` nearest codes, in no order."""
        encoded = self.encode([0], query[np.newaxis])
        blocks = [np.frombuffer(each, dtype=self.type) for each in packed]
        differences = [_count_differences(each, encoded) for each in packed]
        shortlist = _select_smallest(blocks, differences, PRODUCTS_PER_RESULT * limit)
        products = self._multiply_signs(shortlist, query)
        chosen = _select_smallest([shortlist], [-products], limit)
        return [int(number) for number in np.unique(chosen["number"])]

    def _multiply_signs(self, codes: Codes, query: Vectors) -> Vectors:
        """Return the product of the query with the signs of each code, relative to the centre."""
        size = codes["bits"].shape[1]
        relative = np.zeros(8 * size, dtype=np.float32)
        relative[: len(self.centre)] = query - self.centre
        bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, np.newaxis], axis=1)
        products = bits.astype(np.float32) @ relative.reshape(size, 8).T  # of each byte, by place
        sums: Vectors = products[codes["bits"], np.arange(size)].sum(axis=1)
        return sums


def _count_differences(packed: bytes, encoded: bytes) -> NDArray[np.uint16]:
    """Return in how many bits each packed code differs from one other code."""
    words, others = (
        np.frombuffer(each, dtype=np.uint32).reshape(-1, len(encoded) // 4)
        for each in (packed, encoded)
    )
    differences = np.zeros(len(words), dtype=np.uint16)
    for place in range(1, words.shape[1]):  # after the number; faster than a sum of short rows
        differences += np.bitwise_count(words[:, place] ^ others[0, place])
    return differences


def _select_smallest(blocks: Sequence[Codes], values: Sequence[NDArray[Any]], limit: int) -> Codes:
    """Return the codes with the smallest values; equal values may exceed `limit`."""
    everything = np.concatenate(values)
    if len(everything) > limit:
        largest = np.partition(everything, limit - 1)[limit - 1]
        blocks = [each[own <= largest] for each, own in zip(blocks, values, strict=True)]
    return np.concatenate(blocks)
