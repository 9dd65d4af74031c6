"""The rows of search results, with their seals if the account verifies what it reads."""

from collections.abc import Sequence
from functools import cache
from uuid import UUID

from kmapp.database.raw_sql import build_object, fetch_all, list_columns
from kmapp.search.id_array_lookup import IdArray
from memory.models import MemoryEntry

# Raw SQL, because Django would take longer to build these queries than PostgreSQL to run them. Not
# prepared: a prepared statement fails once a migration has changed the columns of its result.
_ROWS_SQL = """
SELECT {columns}, (SELECT verify_on_read FROM accounts_account WHERE id = %s){last_seal}
FROM memory_memoryentry e WHERE e.account_id = %s AND e.id = ANY (%s::uuid[])
"""
_LAST_SEAL_SQL = """, (
  SELECT s.commit_id::text || encode(s.salt, 'hex') FROM ledger_seal s
  JOIN ledger_commit c ON c.account_id = s.account_id AND c.id = s.commit_id
  WHERE s.account_id = e.account_id AND s.object_type = 'memory.memoryentry' AND s.object_id = e.id
  ORDER BY c.seq DESC LIMIT 1)"""

# Accounts that verified rows when this process last loaded some. After a change of the setting, one
# search needs a second query for the seals, or loads them needlessly.
_verifying_accounts: set[UUID] = set()


def load_rows(account_id: UUID, ids: Sequence[str]) -> list[MemoryEntry]:
    """Return these memories, to be passed to `withhold_mismatches`. Inside `acting`."""
    with_seals = account_id in _verifying_accounts
    size, entries = len(MemoryEntry._meta.concrete_fields), []
    for row in fetch_all(
        _build_statement(with_seals=with_seals), [account_id, account_id, IdArray(ids).array]
    ):
        entry = build_object(MemoryEntry, row[:size])
        entry.verify_on_read = row[size]
        if with_seals:
            entry.last_seal = row[-1]
        entries.append(entry)
    if entries and entries[0].verify_on_read:
        _verifying_accounts.add(account_id)
    elif entries:
        _verifying_accounts.discard(account_id)
    return entries


@cache
def _build_statement(*, with_seals: bool) -> str:
    return _ROWS_SQL.format(
        columns=list_columns(MemoryEntry, "e"), last_seal=_LAST_SEAL_SQL if with_seals else ""
    )
