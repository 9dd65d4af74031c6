"""A small cache with expiry for values that may be slightly outdated.

Asking a shared cache takes about as long as asking the database for one of them.
"""

from collections.abc import Hashable
from time import monotonic
from typing import Generic, TypeVar

V = TypeVar("V")


class Memo(Generic[V]):
    def __init__(self, most: int = 1_000) -> None:
        self.most = most
        self._entries: dict[Hashable, tuple[float, V]] = {}

    def get(self, key: Hashable) -> V | None:
        until, value = self._entries.get(key, (0.0, None))
        return value if monotonic() < until else None

    def put(self, key: Hashable, value: V, *, seconds: float) -> V:
        if len(self._entries) >= self.most:
            self._entries.clear()  # rare, and everything in it is cheap to learn again
        self._entries[key] = (monotonic() + seconds, value)
        return value

    def forget(self) -> None:
        self._entries.clear()
