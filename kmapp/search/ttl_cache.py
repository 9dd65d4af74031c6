"""A small cache with expiry in the process, for values that may be slightly outdated.

A shared cache would take about as long as the database.
"""

from collections.abc import Hashable
from time import monotonic
from typing import Generic, TypeVar

V = TypeVar("V")


class TtlCache(Generic[V]):
    def __init__(self, max_entries: int = 1_000) -> None:
        self.max_entries = max_entries
        self._entries: dict[Hashable, tuple[float, V]] = {}

    def get(self, key: Hashable) -> V | None:
        expires_at, value = self._entries.get(key, (0.0, None))
        return value if monotonic() < expires_at else None

    def put(self, key: Hashable, value: V, *, seconds: float) -> V:
        if len(self._entries) >= self.max_entries:
            self._entries.clear()  # rare, and every value is cheap to load again
        self._entries[key] = (monotonic() + seconds, value)
        return value

    def clear(self) -> None:
        self._entries.clear()
