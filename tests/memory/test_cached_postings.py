"""Postings from the cache of a process are those in the database, whatever changes them."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from random import Random
from threading import Event
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from django.db import connection
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from kmapp.accounts.acting import acting
from kmapp.accounts.models import Account
from kmapp.database.ids import uuid7
from kmapp.database.psycopg_cursors import binary_cursor
from kmapp.search import packed_array_reads, posting_packing, scan_method_choice
from kmapp.search.allowed_objects import AllowedObjects, Collection
from kmapp.search.packed_array_cache import ArrayCache
from kmapp.search.packed_array_reads import ArrayRead
from kmapp.search.posting_packing import pack_recent
from kmapp.search.posting_scores import POSTING
from kmapp.search.word_index import index_documents, remove_documents
from kmapp.search.word_search import POSTING_ARRAYS, find_best_by_words, load_weighted_terms

WORDS = ["tea", "cup", "milk"]
OPERATIONS = ["index", "index again", "pack", "remove", "roll back"]
PATIENCE = 20  # seconds


class ProcessCache(ArrayCache):
    """The cache of one process, without the thread that removes old arrays."""

    def start_expiry(self) -> None:
        pass


class RolledBack(Exception):
    """Ends a transaction without its changes."""


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch) -> Iterator[ProcessCache]:
    monkeypatch.setattr(posting_packing, "BLOCK", 4)
    use_cache(monkeypatch, cache := ProcessCache())
    yield cache
    scan_method_choice.clear_query_caches()


def use_cache(patch: pytest.MonkeyPatch, cache: ArrayCache) -> None:
    patch.setattr(packed_array_reads, "array_cache", cache)


def search(collection: Collection, cache: ArrayCache) -> tuple[Any, ...]:
    """Search as a process with this cache. Inside `acting`."""
    scan_method_choice.clear_query_caches()
    with pytest.MonkeyPatch.context() as patch:
        use_cache(patch, cache)
        words = load_weighted_terms(collection, [*WORDS, "unknown"])
        within = AllowedObjects(
            sql="SELECT document FROM search_indexeddocument WHERE collection = %s",
            parameters=[collection.name],
        )
        best = find_best_by_words(collection, words, within=within, limit=5)
    columns = {
        term: [column.tolist() for column in postings.columns]
        for term, postings in words.packed.items()
    }
    return words.idf, columns, words.recent, best


class Life:
    """Random operations on one collection."""

    def __init__(self, account: Account, random: Random) -> None:
        self.account, self.random = account, random
        self.collection = Collection(account_id=account.pk, name=str(uuid7())[:30])
        self.documents: list[UUID] = []
        self.caches = [ProcessCache(), ProcessCache()]

    def compare(self) -> None:
        """Search as one of two processes, and as a new one that has cached nothing."""
        cache = self.random.choice(self.caches)
        with acting(self.account):
            expected = search(self.collection, ProcessCache())
            assert search(self.collection, cache) == expected

    def index(self, documents: Sequence[UUID]) -> None:
        texts = {each: " ".join(self.random.choices(WORDS, k=3)) for each in documents}
        index_documents(self.account.pk, self.collection.name, texts)

    def run(self, operation: str) -> None:
        if operation == "roll back":
            try:
                with acting(self.account):
                    for inner in self.random.choices(OPERATIONS[:-1], k=3):
                        documents = [*self.documents]
                        self.run(inner)
                        self.documents = documents
                        self.compare()
                    raise RolledBack
            except RolledBack:
                return
        account_id, name = self.account.pk, self.collection.name
        some = self.random.sample(self.documents, min(3, len(self.documents)))
        with acting(self.account):
            if operation == "index":
                new = [uuid7() for _ in range(self.random.randint(1, 6))]
                self.index(new)
                self.documents += new
            elif operation == "index again":
                self.index(some)
            elif operation == "remove":
                remove_documents(account_id, [name], some)
                self.documents = [each for each in self.documents if each not in some]
        if operation == "pack":
            pack_recent(account_id, name, at_least=1)


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    seed=st.integers(0, 2**32),
    operations=st.lists(st.sampled_from(OPERATIONS), min_size=3, max_size=12),
)
# All documents of the last block are removed, and no block before it has room.
@example(seed=7756441, operations=["index", "pack", "roll back", "remove", "roll back"])
def test_searches_are_those_of_a_process_without_a_cache(
    committed: str, acme: Account, cache: ProcessCache, seed: int, operations: list[str]
) -> None:
    life = Life(acme, Random(seed))  # noqa: S311 - no secrets
    for operation in ("index", "pack", *operations):
        life.run(operation)
        life.compare()


def index(account: Account, number: int) -> None:
    """Index and pack documents with the word "cat"."""
    with acting(account):
        index_documents(account.pk, "c", {uuid7(): "cat" for _ in range(number)})
    pack_recent(account.pk, "c", at_least=1)


def read_cat(account: Account) -> tuple[list[int], int]:
    """Return the numbers of the documents with the word, and how many postings were loaded."""
    with acting(account), binary_cursor() as cursor:
        read = ArrayRead(POSTING_ARRAYS, (account.pk, "c"), ["cat", "dog"])
        cursor.execute(read.sql, read.parameters)
        rows = cursor.fetchall()
        arrays = read.finish(rows)
    numbers = arrays["cat"][0].tolist() if arrays else []
    return numbers, sum(len(content or b"") for _, _, content, _ in rows) // POSTING.itemsize


def list_cached_numbers(cache: ArrayCache) -> list[list[int]]:
    return [array.columns[0].tolist() for array in cache._values.values()]  # noqa: SLF001


def count_arrays() -> dict[str, float]:
    [metric] = packed_array_reads.ARRAYS.collect()
    samples = [each for each in metric.samples if each.name.endswith("_total")]
    return {each.labels["outcome"]: each.value for each in samples}


def test_only_changed_blocks_are_loaded(committed: str, acme: Account, cache: ProcessCache) -> None:
    index(acme, 10)
    before = count_arrays()
    assert read_cat(acme) == ([*range(10)], 10)
    assert read_cat(acme) == ([*range(10)], 0)
    index(acme, 1)
    assert read_cat(acme) == ([*range(11)], 3), "of the last block"
    counts = {outcome: count - before[outcome] for outcome, count in count_arrays().items()}
    assert counts == {"loaded": 1, "cached": 1, "changed": 1}
    assert list_cached_numbers(cache) == [[*range(11)]]


def test_a_transaction_that_has_written_caches_nothing(
    committed: str, acme: Account, cache: ProcessCache
) -> None:
    index(acme, 3)

    def read_before_rollback() -> None:
        with acting(acme):
            index(acme, 2)
            assert read_cat(acme) == ([*range(5)], 5)
            assert cache._size == 0  # noqa: SLF001
            raise RolledBack

    with pytest.raises(RolledBack):
        read_before_rollback()
    assert read_cat(acme) == ([0, 1, 2], 3)
    index(acme, 1)
    assert read_cat(acme) == ([0, 1, 2, 3], 4)


def test_changes_of_a_running_transaction_are_loaded_once_it_is_committed(
    committed: str, acme: Account, cache: ProcessCache
) -> None:
    """Reading while it runs caches the blocks that it replaces."""
    index(acme, 3)
    is_written, is_read = Event(), Event()

    def write() -> None:
        try:
            with acting(acme):
                index(acme, 2)
                is_written.set()
                assert is_read.wait(PATIENCE)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        try:
            assert is_written.wait(PATIENCE)
            assert read_cat(acme) == ([0, 1, 2], 3)
            assert read_cat(acme) == ([0, 1, 2], 0), "cached"
        finally:
            is_read.set()
        writing.result()
    assert read_cat(acme) == ([*range(5)], 5)


def test_removed_documents_leave_the_cache_in_the_next_search(
    committed: str, acme: Account, cache: ProcessCache
) -> None:
    removed = uuid7()
    with acting(acme):
        index_documents(acme.pk, "c", {removed: "cat dog"})
    index(acme, 2)
    assert read_cat(acme)[0] == [0, 1, 2]
    assert sorted(list_cached_numbers(cache)) == [[0], [0, 1, 2]]
    with acting(acme):
        remove_documents(acme.pk, ["c"], [removed])
    assert read_cat(acme)[0] == [1, 2]
    assert list_cached_numbers(cache) == [[1, 2]], "and nothing of the word that no document has"


def test_an_array_of_another_start_of_the_server_is_loaded_again(
    committed: str, acme: Account, cache: ProcessCache
) -> None:
    """A restored server could repeat the ids of transactions."""
    index(acme, 5)
    read_cat(acme)
    [(key, array)] = cache._values.items()  # noqa: SLF001
    wrong = tuple(np.zeros_like(column) for column in array.columns)
    cache.put(key, replace(array, columns=wrong))
    assert read_cat(acme) == ([0] * 5, 0), "the same start"
    cache.put(key, replace(array, columns=wrong, directory=bytes(8) + array.directory[8:]))
    assert read_cat(acme) == ([*range(5)], 5)


def test_cached_arrays_of_another_account_are_not_returned(
    committed: str, acme: Account, rival: Account, cache: ProcessCache
) -> None:
    index(acme, 3)
    read_cat(acme)
    with acting(rival):
        words = load_weighted_terms(Collection(account_id=acme.pk, name="c"), ["cat"])
    assert words.packed == {}
    assert read_cat(rival) == ([], 0)


def test_emptied_collection_has_no_arrays(
    committed: str, acme: Account, cache: ProcessCache
) -> None:
    documents = {uuid7(): "cat" for _ in range(8)}
    with acting(acme):
        index_documents(acme.pk, "c", documents)
    pack_recent(acme.pk, "c", at_least=1)
    assert len(read_cat(acme)[0]) == len(documents)
    with acting(acme):
        remove_documents(acme.pk, ["c"], documents)
    assert read_cat(acme) == ([], 0)
