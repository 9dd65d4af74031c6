"""Arrays of numbers of documents, and the keys under which arrays are stored."""

from collections.abc import Iterable, Mapping
from typing import TypeAlias
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

Key: TypeAlias = tuple[str, int]  # a term or a reader group, and a block
NUMBER = np.dtype(">u4")  # as PostgreSQL's int4send, with which a trigger appends them


def unpack_numbers(packed: bytes) -> NDArray[np.int64]:
    return np.frombuffer(packed, dtype=NUMBER).astype(np.int64)


def remove_packed_numbers(packed: bytes, numbers: Iterable[int]) -> bytes:
    """Return all other numbers."""
    remaining = np.frombuffer(packed, dtype=NUMBER)
    return remaining[~np.isin(remaining, list(numbers))].tobytes()


def build_lock_name(account_id: UUID, collection: str) -> str:
    """Return the name of the lock of everything that is packed for a collection."""
    return f"packed postings:{account_id}:{collection}"


def split_keys(keys: Iterable[Key]) -> tuple[list[str], list[int]]:
    """Return names and blocks, as two columns."""
    ordered = sorted(keys)
    return [name for name, _ in ordered], [block for _, block in ordered]


def build_columns(packed: Mapping[Key, bytes]) -> tuple[list[str], list[int], list[bytes]]:
    """Return names, blocks and arrays, in the order of the primary key."""
    return *split_keys(packed), [packed[key] for key in sorted(packed)]
