"""The rows of search results, with their seals if the account verifies what it reads."""

from collections.abc import Sequence
from uuid import UUID

from kmapp.search.id_array_lookup import IdArray
from memory.models import MemoryEntry

# Raw SQL, because Django would take longer to build these queries than PostgreSQL to run them. Not
# prepared: a prepared statement fails once a migration has changed the columns of its result.
_ROWS_SQL = """
SELECT e.*, (SELECT verify_on_read FROM accounts_account WHERE id = %s) AS verify_on_read{}
FROM memory_memoryentry e WHERE e.account_id = %s AND e.id = ANY (%s::uuid[])
"""
_LAST_SEAL_SQL = """, (
  SELECT s.commit_id::text || encode(s.salt, 'hex') FROM ledger_seal s
  JOIN ledger_commit c ON c.account_id = s.account_id AND c.id = s.commit_id
  WHERE s.account_id = e.account_id AND s.object_type = 'memory.memoryentry' AND s.object_id = e.id
  ORDER BY c.seq DESC LIMIT 1) AS last_seal"""
_ROWS_WITHOUT_SEALS_SQL = _ROWS_SQL.format("")
_ROWS_WITH_SEALS_SQL = _ROWS_SQL.format(_LAST_SEAL_SQL)

# Accounts that verified rows when this process last loaded some. After a change of the setting, one
# search needs a second query for the seals, or loads them needlessly.
_verifying_accounts: set[UUID] = set()


def load_rows(account_id: UUID, ids: Sequence[str]) -> list[MemoryEntry]:
    """Return these memories, to be passed to `withhold_mismatches`. Inside `acting`."""
    query = _ROWS_WITH_SEALS_SQL if account_id in _verifying_accounts else _ROWS_WITHOUT_SEALS_SQL
    rows = list(MemoryEntry.objects.raw(query, [account_id, account_id, IdArray(ids).array]))
    if rows and rows[0].verify_on_read:
        _verifying_accounts.add(account_id)
    elif rows:
        _verifying_accounts.discard(account_id)
    return rows
