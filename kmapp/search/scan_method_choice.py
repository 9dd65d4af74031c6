"""Whether a scan of the allowed objects is faster than an index, from counts. Inside `acting`."""

import math
from dataclasses import replace
from hashlib import sha256

from kmapp.database.raw_sql import fetch_all
from kmapp.runtime.in_process_caches import TtlCache
from kmapp.search.allowed_objects import AllowedObjects, Collection

SCAN_FACTOR = 30.0  # times the root of a collection's size: up to so many objects are scanned
CACHE_SECONDS = 30  # counts change slowly, and counting is slow
MAX_CACHE_SECONDS = 1_800  # seconds; counts above `SMALL_COUNT` are cached longer
SMALL_COUNT = 1_000  # documents

STATISTICS_CACHE: TtlCache[tuple[int, float]] = TtlCache()
ALLOWED_COUNT_CACHE: TtlCache[int] = TtlCache()


def clear_query_caches() -> None:
    """Clear the caches, for another database or a test."""
    STATISTICS_CACHE.clear()
    ALLOWED_COUNT_CACHE.clear()


def compute_cache_seconds(count: int) -> float:
    """Return how long to cache a count: a larger one takes longer and changes relatively less."""
    return min(CACHE_SECONDS * count / SMALL_COUNT, MAX_CACHE_SECONDS)


def load_statistics(collection: Collection) -> tuple[int, float]:
    statistics = STATISTICS_CACHE.get(collection)
    if statistics is None:
        row: tuple[int, float]
        [row] = fetch_all(
            "SELECT count(*), coalesce(avg(length), 1)::float8 FROM search_indexeddocument "
            "WHERE account_id = %s AND collection = %s",
            [collection.account_id, collection.name],
        )
        # A small collection changes fast and is counted fast.
        seconds = compute_cache_seconds(row[0]) if row[0] > SMALL_COUNT else 1
        statistics = STATISTICS_CACHE.put(collection, row, seconds=seconds)
    return statistics


def compute_scan_limit(collection: Collection) -> int:
    """Return the number of allowed objects up to which a scan is faster than the index."""
    documents, _ = load_statistics(collection)
    return int(SCAN_FACTOR * math.sqrt(documents))


def is_scan_faster(collection: Collection, within: AllowedObjects) -> bool:
    """Return whether a scan is faster than the index.

    The index is slower the more vectors it has and the fewer of them qualify. Both take equally
    long at about this multiple of the root of the collection's size.
    """
    scan_limit = compute_scan_limit(collection)
    if within.is_scanned or load_statistics(collection)[0] <= scan_limit:
        return True
    return count_allowed(collection, within) <= scan_limit


def count_allowed(collection: Collection, within: AllowedObjects) -> int:
    """Return the number of allowed objects, counted up to one more than a scan may have."""
    count_limit = compute_scan_limit(collection) + 1
    within = within.as_list or within
    # A digest, because a filter may have a megabyte of values.
    condition = f"{within.sql}{within.parameters!r}".encode(errors="replace")
    key = (collection, count_limit, sha256(condition).digest())
    count = ALLOWED_COUNT_CACHE.get(key)
    if count is None:
        [(counted,)] = fetch_all(
            f"SELECT count(*) FROM ({within.sql} LIMIT {count_limit}) AS allowed",  # noqa: S608 - see `nearest_search`
            within.parameters,
        )
        count = ALLOWED_COUNT_CACHE.put(key, counted, seconds=CACHE_SECONDS)
    return count


def restrict_to_ids(collection: Collection, within: AllowedObjects) -> AllowedObjects:
    """Return the condition with explicit ids, if there are few.

    For filters over several tables: Postgres expects one or two rows of a new account and would
    evaluate the filter again for each of its thousands of vectors.
    """
    scan_limit = compute_scan_limit(collection)
    [(ids,)] = fetch_all(
        f"SELECT array_agg(id) FROM ({within.sql} LIMIT {scan_limit + 1}) AS allowed (id)",  # noqa: S608 - as above
        within.parameters,
    )
    ids = ids or []
    return (
        replace(AllowedObjects.from_ids(ids), is_scanned=True) if len(ids) <= scan_limit else within
    )
