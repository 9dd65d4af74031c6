"""Reader groups and codes from the cache of a process are those in the database."""

from collections.abc import Iterator
from typing import Any

import pytest

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.search import reader_group_search, scan_method_choice, vector_code_packing
from kmapp.search.allowed_objects import Collection
from kmapp.search.models import CodeCentre
from kmapp.search.packed_array_cache import ArrayCache
from kmapp.search.posting_packing import purge_removed
from memory.actions import review
from memory.actions.erasure import erase_entries, preview_erasure
from memory.models import MemoryEntry, Viewer
from memory.models.entries import COLLECTION
from tests import makers
from tests.memory.packed_index import SUBJECTS, pack_all, write_packed_memories
from tests.memory.test_cached_postings import ProcessCache, use_cache
from tests.memory.test_reader_groups import build_within, find_nearest, load_vector

VIEWERS = [Viewer(), Viewer(user_id="ann"), Viewer(user_id="bob")]


@pytest.fixture
def packed(committed: str, acme: Account, monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    """An account as in other tests, but committed: its arrays are cached."""
    monkeypatch.setattr(scan_method_choice, "SCAN_FACTOR", 0.0)  # no collection is small
    monkeypatch.setattr(vector_code_packing, "MIN_SAMPLE", 1)
    write_packed_memories(acme, SUBJECTS[:5])
    yield acme
    scan_method_choice.clear_query_caches()


def search(account: Account, entry: MemoryEntry, cache: ArrayCache) -> list[Any]:
    """Return what each viewer finds in a process with this cache."""
    meaning, results = load_vector(account, entry), list[Any]()
    collection = Collection(account_id=account.pk, name=COLLECTION)
    with pytest.MonkeyPatch.context() as patch:
        use_cache(patch, cache)
        for viewer in VIEWERS:
            within = build_within(account, viewer)
            scan_method_choice.clear_query_caches()
            results.append(find_nearest(account, meaning, within))
            with acting(account):
                numbers = reader_group_search.load_reader_group_numbers(collection, within)
            results.append([each.tolist() for each in numbers])
    return results


def test_results_are_those_of_a_process_without_a_cache(packed: Account) -> None:
    [first, *others] = makers.rows(MemoryEntry, packed, user_id="ann")
    caches = [ProcessCache(), ProcessCache()]

    def compare(*processes: ArrayCache) -> None:
        expected = search(packed, first, ProcessCache())
        for cache in processes:
            assert search(packed, first, cache) == expected

    compare(*caches)
    makers.write(packed, "Green tea: a new note.", user_id="bob")
    makers.settle()
    compare(caches[0])
    pack_all(packed)
    compare(*caches)
    makers.update(MemoryEntry, packed, {"pk": others[0].pk}, visibility="account")
    compare(caches[0])
    pack_all(packed)
    with acting(packed):
        review.forget(makers.decision(others[1]))
    compare(*caches)
    with acting(packed):
        CodeCentre.objects.of(packed).delete()
    compare(caches[0])
    pack_all(packed)
    purge_removed(packed.pk, COLLECTION)
    compare(*caches)


def test_codes_are_loaded_once(packed: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = makers.rows(MemoryEntry, packed, user_id="ann")[0]
    monkeypatch.setattr(reader_group_search, "MAX_UNCACHED_SIZE", 0)
    expected, cache = search(packed, entry, ProcessCache()), ProcessCache()
    search(packed, entry, cache)
    size = cache._size  # noqa: SLF001
    codes = [array for array in cache._values.values() if len(array.columns) == 2]  # noqa: SLF001
    assert len(codes) == 3, "of everyone, Ann and Bob"
    assert search(packed, entry, cache) == expected
    assert cache._size == size  # noqa: SLF001
    with acting(packed):
        # This transaction has written, so it could not cache codes, and must not load many.
        makers.write(packed, "Written.", user_id="ann")
        assert search(packed, entry, cache)[0] == expected[0]
        assert cache._size == size  # noqa: SLF001


def test_erased_person_leaves_no_numbers_or_codes_in_the_cache(packed: Account) -> None:
    cache = ProcessCache()
    entry = makers.rows(MemoryEntry, packed, user_id="bob")[0]
    before = search(packed, entry, cache)
    rows = MemoryEntry.objects.of(packed).filter(user_id="ann")
    with acting(packed):
        erased = {str(pk) for pk in rows.values_list("pk", flat=True)}
        ticket = preview_erasure(packed.pk, rows, SYSTEM, person="ann").ticket
        erase_entries(packed.pk, rows, SYSTEM, ticket=ticket, person="ann")
    purge_removed(packed.pk, COLLECTION)
    count = len(cache._values)  # noqa: SLF001
    after = search(packed, entry, cache)
    assert erased & {pk for result in before[::2] for pk in result}
    assert not erased & {pk for result in after[::2] for pk in result}
    assert len(cache._values) == count - 2, "Ann's numbers and codes"  # noqa: SLF001
