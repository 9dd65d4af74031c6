"""Locks between transactions that copy the content of rows and those that erase the rows.

A transaction that copies calls `lock_for_copy` first. One that erases calls `lock_for_erasure`,
then deletes the copies, then the rows. So either the erasing transaction sees every copy, or the
copying one finds no rows.
"""

from collections.abc import Collection, Mapping
from typing import TypeAlias
from uuid import UUID

from django.db.models import Model

from kmapp.database.raw_sql import fetch_all

RowIds: TypeAlias = Mapping[type[Model], Collection[UUID]]


def lock_for_copy(account_id: UUID, ids: RowIds) -> set[UUID]:
    """Return the ids of existing rows, which cannot be erased until the transaction ends.

    Rows that are being erased count as missing, so that nobody waits for a long erasure. Inside
    `acting`; one statement.
    """
    return _lock_rows(account_id, ids, "FOR KEY SHARE SKIP LOCKED")


def lock_remaining(account_id: UUID, ids: RowIds) -> set[UUID]:
    """Wait for erasures of these rows, and return the ids of rows that remain.

    These cannot be erased until the transaction ends. Inside `acting`; one statement.
    """
    return _lock_rows(account_id, ids, "ORDER BY id FOR KEY SHARE")


def lock_for_erasure(account_id: UUID, ids: RowIds) -> set[UUID]:
    """Wait for the transactions that copy these rows, and return the existing ids.

    Inside `acting`; one statement.
    """
    return _lock_rows(account_id, ids, "ORDER BY id FOR UPDATE")


def _lock_rows(account_id: UUID, ids: RowIds, lock: str) -> set[UUID]:
    locked = [
        f"SELECT id FROM (SELECT id FROM {model._meta.db_table} WHERE account_id = %s "  # noqa: S608 - ours
        f"AND id = ANY (%s) {lock}) AS locked"
        for model in ids
    ]
    parameters = [value for rows in ids.values() for value in (account_id, list(rows))]
    if not locked:
        return set()
    return {pk for (pk,) in fetch_all(" UNION ALL ".join(locked), parameters)}
