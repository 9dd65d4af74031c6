"""The cache of packed arrays: its entries expire, and have a limit of size."""

from threading import Event, Thread
from time import monotonic, sleep

import numpy as np
import pytest

from kmapp.runtime.processes import wait_until
from kmapp.search import packed_array_cache, packed_array_reads
from kmapp.search.packed_array_cache import (
    BLOCK,
    ENTRY_OVERHEAD,
    START_SIZE,
    ArrayCache,
    CachedArray,
    digest_name,
    list_blocks,
)
from kmapp.search.packed_array_reads import ArrayRead
from kmapp.search.posting_scores import POSTING
from kmapp.search.word_search import POSTING_ARRAYS

START = b"\x01" * START_SIZE
BLOCKS = [(0, 700, 3), (2, 4_000_000_000, 2)]  # block, writer and number of items
PATIENCE = 20  # seconds


def build_array(*, age: float = 0.0, items: int = 5) -> CachedArray:
    blocks = [(block, writer, POSTING.itemsize * count) for block, writer, count in BLOCKS]
    return CachedArray(
        directory=START + np.array(blocks, dtype=BLOCK).tobytes(),
        columns=(np.arange(items, dtype=np.uint32),),
        expires_at=monotonic() + packed_array_cache.MAX_AGE - age,
    )


def test_directory_has_the_versions_and_places_of_blocks() -> None:
    array = build_array()
    assert list_blocks(array.directory) == [(0, 700, 24), (2, 4_000_000_000, 16)]
    assert array.versions[:START_SIZE] == START
    assert np.frombuffer(array.versions[START_SIZE:], ">u4").tolist() == [700, 0, 4_000_000_000]
    parts = array.split(POSTING.itemsize)
    assert {key: columns[0].tolist() for key, columns in parts.items()} == {
        (0, 700): [0, 1, 2],
        (2, 4_000_000_000): [3, 4],
    }


def test_names_are_not_stored() -> None:
    assert digest_name("quetzal") == digest_name("quetzal") != digest_name("tea")
    assert b"quetzal" not in digest_name("quetzal")


def test_old_arrays_are_removed_without_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_array_cache, "EXPIRY_INTERVAL", 0.01)
    cache = ArrayCache()
    cache.put("old", build_array(age=packed_array_cache.MAX_AGE))
    cache.put("new", build_array())
    assert cache.get_current("old") is None
    assert wait_until(lambda: cache.get("old") is None, PATIENCE)
    assert cache.get_current("new") is not None
    assert cache._size == build_array().size  # noqa: SLF001


def test_arrays_have_a_limit_of_size() -> None:
    size = build_array(items=1_000).size
    assert size > 4_000 + ENTRY_OVERHEAD
    cache = ArrayCache(max_size=3 * size)
    for name in range(9):
        cache.put(name, build_array(items=1_000))
    assert [name for name in range(9) if cache.get(name)] == [6, 7, 8]
    cache.put("large", build_array(items=10_000))
    assert [name for name in range(9) if cache.get(name)] == [6, 7, 8], "not displaced"
    assert cache.get("large") is None


def test_one_thread_at_a_time_loads_arrays(monkeypatch: pytest.MonkeyPatch) -> None:
    cache, order = ArrayCache(), list[str]()
    monkeypatch.setattr(packed_array_reads, "array_cache", cache)
    monkeypatch.setattr(packed_array_reads, "MAX_WAIT", PATIENCE)
    is_first_inside = Event()

    def load_first() -> None:
        with ArrayRead(POSTING_ARRAYS, ("account", "c"), ["tea"]).take_turns():
            is_first_inside.set()
            sleep(0.1)
            order.append("first")

    first = Thread(target=load_first)
    first.start()
    assert is_first_inside.wait(PATIENCE)
    with ArrayRead(POSTING_ARRAYS, ("account", "c"), ["tea"]).take_turns():
        order.append("second")
    first.join(PATIENCE)
    assert order == ["first", "second"]
    assert not cache.loading.locked()


def test_a_thread_does_not_wait_long_for_another_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other thread may wait for a lock of the database that this one's transaction delays."""
    cache = ArrayCache()
    monkeypatch.setattr(packed_array_reads, "array_cache", cache)
    monkeypatch.setattr(packed_array_reads, "MAX_WAIT", 0.01)
    with cache.loading:
        with ArrayRead(POSTING_ARRAYS, ("account", "c"), ["tea"]).take_turns():
            pass
        assert cache.loading.locked()
