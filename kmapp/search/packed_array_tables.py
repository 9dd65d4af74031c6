"""Arrays of numbers of documents, and the tables that store an array for each name and block."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

Key: TypeAlias = tuple[str, int]  # a term or a reader group, and a block
CollectionKey: TypeAlias = tuple[UUID, str]
# The format of PostgreSQL's int4send, with which a trigger appends numbers.
NUMBER = np.dtype([("number", ">u4")])
COLLECTION = (("account_id", "uuid"), ("collection", "text"))

_APPEND = """
INSERT INTO {table} AS p ({columns}, {name}, block, {array})
SELECT {values}, n.name, n.block, n.content
  FROM unnest(%s::text[], %s::int[], %s::bytea[]) AS n (name, block, content)
ON CONFLICT ({columns}, {name}, block) DO UPDATE SET {array} = p.{array} || excluded.{array}
"""
_LOCK = """
SELECT p.{name}, p.block, p.{array} FROM {table} p
  JOIN unnest(%s::text[], %s::int[]) AS n (name, block) ON p.{name} = n.name AND p.block = n.block
 WHERE {conditions} ORDER BY p.{name}, p.block FOR UPDATE OF p
"""
_REWRITE = """
WITH written AS (
  SELECT * FROM unnest(%s::text[], %s::int[], %s::bytea[]) AS n (name, block, content)
), emptied AS (
  DELETE FROM {table} p USING written n
   WHERE {conditions} AND p.{name} = n.name AND p.block = n.block AND n.content = ''
)
UPDATE {table} p SET {array} = n.content FROM written n
 WHERE {conditions} AND p.{name} = n.name AND p.block = n.block AND n.content <> ''
"""


@dataclass(frozen=True, slots=True)
class ArrayTable:
    """A table whose primary key is `key`, the column `name` and the block.

    Methods use a cursor inside `acting`. `values` are those of `key`.
    """

    table: str
    name: str
    array: str
    key: tuple[tuple[str, str], ...] = COLLECTION  # columns and their types

    def append(self, cursor: Any, values: tuple[Any, ...], packed: Mapping[Key, bytes]) -> None:
        """Append to arrays, and create those that do not exist."""
        cursor.execute(self.format(_APPEND), [*values, *_build_columns(packed)])

    def remove(
        self,
        cursor: Any,
        values: tuple[Any, ...],
        numbers: Mapping[Key, list[int]],
        item: "np.dtype[np.void]",
    ) -> None:
        """Remove the items of these documents, and delete the rows of empty arrays.

        `item` is the type of an item, which has the number of its document.
        """
        if not numbers:
            return
        cursor.execute(self.format(_LOCK), [*_split_keys(numbers), *values])
        remaining = {}
        for name, block, array in cursor.fetchall():
            items = np.frombuffer(array, dtype=item)
            removed = np.isin(items["number"], numbers[name, block])
            remaining[name, block] = items[~removed].tobytes()
        if remaining:
            cursor.execute(self.format(_REWRITE), [*_build_columns(remaining), *values * 2])

    def format(self, statement: str) -> str:
        return statement.format(
            table=self.table,
            name=self.name,
            array=self.array,
            columns=", ".join(column for column, _ in self.key),
            values=", ".join(f"%s::{type_}" for _, type_ in self.key),
            conditions=" AND ".join(f"p.{column} = %s::{type_}" for column, type_ in self.key),
        )


POSTINGS = ArrayTable("search_packedpostings", "term", "postings")
READER_GROUPS = ArrayTable("search_packedreadergroup", "reader_group", "numbers")
CODES = ArrayTable(
    "search_packedcodes", "reader_group", "codes", (*COLLECTION, ("model_id", "bigint"))
)


def unpack_numbers(packed: bytes) -> NDArray[np.uint32]:
    return np.frombuffer(packed, dtype=NUMBER)["number"].astype(np.uint32)


def build_lock_name(account_id: UUID, collection: str) -> str:
    """Return the name of the lock of everything that is packed for a collection."""
    return f"packed postings:{account_id}:{collection}"


def _split_keys(keys: Iterable[Key]) -> tuple[list[str], list[int]]:
    """Return names and blocks, as two columns."""
    ordered = sorted(keys)
    return [name for name, _ in ordered], [block for _, block in ordered]


def _build_columns(packed: Mapping[Key, bytes]) -> tuple[list[str], list[int], list[bytes]]:
    """Return names, blocks and arrays, in the order of the primary key."""
    return *_split_keys(packed), [packed[key] for key in sorted(packed)]
