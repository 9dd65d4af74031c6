"""Classes of caches in the process. A shared cache would take about as long as the database."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from time import monotonic
from typing import Generic, TypeVar

V = TypeVar("V")


class TtlCache(Generic[V]):
    """A cache with expiry, for values that may be slightly outdated."""

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


class LruCache(Generic[V]):
    """The values that were used last, up to a total size. Threads can share it."""

    def __init__(self, max_size: int, size_of: Callable[[V], int] = lambda _value: 1) -> None:
        self.max_size, self.size_of = max_size, size_of
        self._values: OrderedDict[Hashable, V] = OrderedDict()
        self._size = 0
        self._lock = Lock()

    def get(self, key: Hashable) -> V | None:
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key]

    def put(self, key: Hashable, value: V) -> None:
        with self._lock:
            if key in self._values:
                self._size -= self.size_of(self._values.pop(key))
            self._values[key] = value
            self._size += self.size_of(value)
            while self._size > self.max_size:
                self._size -= self.size_of(self._values.popitem(last=False)[1])

    def discard(self, is_outdated: Callable[[V], bool]) -> None:
        with self._lock:
            for key in [key for key, value in self._values.items() if is_outdated(value)]:
                self._size -= self.size_of(self._values.pop(key))

    def clear(self) -> None:
        with self._lock:
            self._values.clear()
            self._size = 0
