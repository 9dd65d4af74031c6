"""Reads of packed arrays that load only what the process has not cached. Inside `acting`.

A statement lists the blocks of the requested arrays, under row-level security, each with the
transaction that wrote it, and returns the content of those blocks only that another transaction
wrote than the cached ones. docs/decisions/packed-array-cache.md states why this is a version.
"""

from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any

import numpy as np
from django.db import connection
from prometheus_client import Counter

from kmapp.search.packed_array_cache import (
    MAX_AGE,
    START_SIZE,
    CachedArray,
    Columns,
    array_cache,
    digest_name,
    list_blocks,
    slice_columns,
)
from kmapp.search.packed_array_tables import ArrayTable

MAX_WAIT = 1.0  # seconds that a thread waits while another one loads arrays
ARRAYS = Counter(
    "kmapp_packed_arrays", "Packed arrays that searches read, by outcome.", ["outcome"]
)
# Changed: only the changed blocks are loaded. The series exist from the start.
_counters = {each: ARRAYS.labels(each) for each in ("cached", "changed", "loaded")}

_START = "timestamptz_send(pg_postmaster_start_time())"
_IS_COMMITTED = "pg_current_xact_id_if_assigned() IS NULL"
_NAMES = "unnest(%s::text[], %s::bytea[]) AS q (name, versions)"
_BLOCKS = """SELECT p.block, p.xmin AS writer, p.{array} AS content
      FROM {table} p WHERE {conditions} AND p.{name} = q.name"""
_ENTRY = "int4send(p.block) || xidsend(p.writer) || int4send(octet_length(p.content))"
_CHANGED = f"""CASE WHEN NOT (substring(q.versions FOR {START_SIZE}) = {_START}
      AND substring(q.versions FROM {START_SIZE + 1} + 4 * p.block FOR 4) = xidsend(p.writer))
      THEN p.content END"""
# Prepared, because each name is looked up in a subquery of its own, which is not joined; see
# `kmapp.database.psycopg_cursors`. PostgreSQL stores the size of a content apart, so a content that
# is not returned is not read.
_SELECT = f"""
SELECT q.name, b.directory, b.content, {_IS_COMMITTED} AS is_committed
  FROM {_NAMES}, LATERAL (
    SELECT {_START} || string_agg({_ENTRY}, ''::bytea ORDER BY p.block) AS directory,
      string_agg({_CHANGED}, ''::bytea ORDER BY p.block) AS content
      FROM ({_BLOCKS}) p) b
 WHERE b.directory IS NOT NULL
"""  # noqa: S608 - constants
# With OFFSET 0, the planner cannot join all blocks of a collection instead of looking up names.
_SELECT_UP_TO = f"""
WITH blocks AS MATERIALIZED (
  SELECT q.name, p.block, {_ENTRY} AS entry, octet_length(p.content)::bigint AS size,
      {_CHANGED} AS changed
    FROM {_NAMES} CROSS JOIN LATERAL ({_BLOCKS} OFFSET 0) p
)
SELECT name, {_START} || string_agg(entry, ''::bytea ORDER BY block) AS directory,
  string_agg(CASE WHEN (SELECT sum(size) FROM blocks) <= %s AND ({_IS_COMMITTED}
    OR (SELECT coalesce(sum(octet_length(changed)), 0) FROM blocks) <= %s) THEN changed END,
    ''::bytea ORDER BY block) AS content, {_IS_COMMITTED} AS is_committed
  FROM blocks GROUP BY name
"""  # noqa: S608 - constants


@dataclass(frozen=True, slots=True)
class ArrayFormat:
    """How to read the arrays of a table."""

    table: ArrayTable
    item_size: int  # bytes
    decode: Callable[[bytes], Columns]


@dataclass(frozen=True, slots=True)
class SizeLimit:
    """The size in bytes of all requested arrays beyond which no content is returned."""

    total: int
    uncached: int  # of what a transaction loads that cannot store it in the cache


class ArrayRead:
    """One read of arrays by their names. Pass the rows of `sql`, a subquery, to `finish`.

    A row has a name, the directory of its array, the content of changed blocks, and whether the
    transaction has written nothing. `key` has the values of the table's key.
    """

    def __init__(
        self,
        array_format: ArrayFormat,
        key: tuple[Any, ...],
        names: Sequence[str],
        limit: SizeLimit | None = None,
    ) -> None:
        self.format, self.key, self.limit = array_format, key, limit
        self.names = list(dict.fromkeys(names))
        self._cached = self._find_cached()

    @property
    def sql(self) -> str:
        return self.format.table.format(_SELECT_UP_TO if self.limit else _SELECT)

    @property
    def parameters(self) -> list[Any]:
        cached = [self._cached[name] for name in self.names]
        versions = [array.versions if array else b"" for array in cached]
        limits = [self.limit.total, self.limit.uncached] if self.limit else []
        return [self.names, versions, *self.key, *limits]

    @contextmanager
    def take_turns(self) -> Iterator[None]:
        """Let one thread at a time load arrays, if none is cached.

        Otherwise threads that start together would each load all of them. The wait is limited,
        because the other thread may wait for a lock of the database that is granted only after the
        transaction of this one.
        """
        if any(self._cached.values()) or not array_cache.loading.acquire(timeout=MAX_WAIT):
            yield
            return
        try:
            self._cached = self._find_cached()
            yield
        finally:
            array_cache.loading.release()

    def finish(self, rows: Iterable[Sequence[Any]]) -> dict[str, Columns]:
        """Return the arrays by their names, and cache them. Those beyond the limit are left out.

        A transaction that has written caches nothing: it may read rows of its own, which nobody
        else will ever see.
        """
        arrays, outcomes = dict[str, Columns](), Tally[str]()
        for name, directory, content, is_committed in rows:
            cached = self._cached.pop(name)
            array = cached
            if cached is None or cached.directory != directory:
                array = self._update(cached, directory, content or b"")
                if array and is_committed:
                    array_cache.put(self._build_key(name), array)
            if array:
                arrays[name] = array.columns
                outcomes["cached" if array is cached else "changed" if cached else "loaded"] += 1
        for outcome, count in outcomes.items():
            _counters[outcome].inc(count)
        self._discard_missing()
        return arrays

    def _discard_missing(self) -> None:
        """Remove the cached arrays that have no row any more."""
        missing = [array for array in self._cached.values() if array]
        if missing:
            array_cache.discard(lambda array: array in missing)

    def _find_cached(self) -> dict[str, CachedArray | None]:
        return {name: array_cache.get_current(self._build_key(name)) for name in self.names}

    def _build_key(self, name: str) -> tuple[Any, ...]:
        return (connection.alias, self.format.table.table, *self.key, digest_name(name))

    def _update(
        self, cached: CachedArray | None, directory: bytes, content: bytes
    ) -> CachedArray | None:
        """Return the array with its changed blocks, or None if their content was left out."""
        unchanged, expires_at = dict[tuple[int, int], Columns](), monotonic() + MAX_AGE
        if cached and cached.start == directory[:START_SIZE]:
            unchanged, expires_at = cached.split(self.format.item_size), cached.expires_at
        changed = self.format.decode(content)
        parts, start = list[Columns](), 0
        for block, writer, size in list_blocks(directory):
            part = unchanged.get((block, writer))
            if part is None:
                end = start + size // self.format.item_size
                part = slice_columns(changed, start, end)
                start = end
            parts.append(part)
        if start != changed[0].shape[-1]:
            return None
        columns = changed
        if unchanged:
            columns = tuple(np.concatenate(column, axis=-1) for column in zip(*parts, strict=True))
        for column in columns:
            column.flags.writeable = False  # threads share it
        return CachedArray(directory, columns, expires_at)
