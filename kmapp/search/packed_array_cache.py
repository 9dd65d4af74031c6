"""Cache of packed arrays in the process. `kmapp.search.packed_array_reads` checks and fills it.

An entry has numbers of documents, lengths, frequencies and sign bits, and its key a digest of its
term or reader group. So nothing in it can be read without the rows of the database.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from operator import attrgetter
from secrets import token_bytes
from threading import Lock, Thread
from time import monotonic, sleep
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from kmapp.runtime.in_process_caches import LruCache

MAX_CACHE_BYTES = 96 * 2**20  # of one process
MAX_AGE = 600  # seconds after which an array is loaded again
EXPIRY_INTERVAL = 60  # seconds between removals of arrays older than MAX_AGE
ENTRY_OVERHEAD = 1_000  # bytes that an entry takes in addition to its arrays
START_SIZE = 8  # bytes of the start time of a server
BLOCK = np.dtype([("block", ">i4"), ("writer", ">u4"), ("size", ">i4")])

Columns: TypeAlias = tuple[NDArray[Any], ...]  # with an item for each document in the last axis
_digest_key = token_bytes(32)


def digest_name(name: str) -> bytes:
    """Return a digest of a term or reader group, with a key of this process."""
    return blake2b(name.encode(), key=_digest_key, digest_size=16).digest()


@dataclass(frozen=True, eq=False)
class CachedArray:
    """The array of a term or reader group, and the state of the rows that it was read from.

    `directory` is the start time of the server, and then a `BLOCK` for each row.
    """

    directory: bytes
    columns: Columns
    expires_at: float

    @property
    def size(self) -> int:
        arrays = sum(each.nbytes for each in self.columns)
        return arrays + 2 * len(self.directory) + ENTRY_OVERHEAD

    @property
    def start(self) -> bytes:
        """Return the start time of the server."""
        return self.directory[:START_SIZE]

    @cached_property
    def versions(self) -> bytes:
        """Return the start time of the server and the writer of each block, 0 for missing ones."""
        blocks = np.frombuffer(self.directory, dtype=BLOCK, offset=START_SIZE)
        writers = np.zeros(int(blocks["block"].max()) + 1, dtype=">u4")
        writers[blocks["block"]] = blocks["writer"]
        return self.start + writers.tobytes()

    def split(self, item_size: int) -> dict[tuple[int, int], Columns]:
        """Return the columns of each block, by block and writer."""
        parts, start = dict[tuple[int, int], Columns](), 0
        for block, writer, size in list_blocks(self.directory):
            end = start + size // item_size
            parts[block, writer] = slice_columns(self.columns, start, end)
            start = end
        return parts


def list_blocks(directory: bytes) -> list[tuple[int, int, int]]:
    """Return the number, the writer and the size in bytes of each block."""
    blocks: list[tuple[int, int, int]]
    blocks = np.frombuffer(directory, dtype=BLOCK, offset=START_SIZE).tolist()
    return blocks


def slice_columns(columns: Columns, start: int, end: int) -> Columns:
    return tuple(column[..., start:end] for column in columns)


class ArrayCache(LruCache[CachedArray]):
    """The arrays that were used last. A thread removes old ones, also while nothing is searched."""

    def __init__(self, max_size: int = MAX_CACHE_BYTES) -> None:
        super().__init__(max_size, size_of=attrgetter("size"))
        self.loading = Lock()  # see `ArrayRead.take_turns`
        self._expiry: Thread | None = None
        self._expiry_lock = Lock()

    def get_current(self, key: Hashable) -> CachedArray | None:
        """Return an array that has not expired."""
        array = self.get(key)
        return array if array and monotonic() < array.expires_at else None

    def put(self, key: Hashable, value: CachedArray) -> None:
        if value.size > self.max_size:
            return
        super().put(key, value)
        self.start_expiry()

    def start_expiry(self) -> None:
        """Start the thread, unless it runs. The child of a fork does not have it."""
        with self._expiry_lock:
            if self._expiry is None or not self._expiry.is_alive():
                self._expiry = Thread(target=self._expire, name="array expiry", daemon=True)
                self._expiry.start()

    def discard_expired(self) -> None:
        now = monotonic()
        self.discard(lambda array: array.expires_at <= now)

    def _expire(self) -> None:
        while True:
            sleep(EXPIRY_INTERVAL)
            self.discard_expired()


array_cache = ArrayCache()
