"""The rows of search results, with their seals if the account verifies what it reads."""

from collections.abc import Sequence
from uuid import UUID

from kmapp.search.lookups import Ids
from memory.models import MemoryEntry

# Constants, because building them takes Django longer than running them takes Postgres.
_ROWS = """
SELECT e.*, (SELECT verify_on_read FROM accounts_account WHERE id = %s) AS verify_on_read{}
FROM memory_memoryentry e WHERE e.account_id = %s AND e.id = ANY (%s::uuid[])
"""
_LAST_SEAL = """, (
  SELECT s.commit_id::text || encode(s.salt, 'hex') FROM ledger_seal s
  JOIN ledger_commit c ON c.account_id = s.account_id AND c.id = s.commit_id
  WHERE s.account_id = e.account_id AND s.object_type = 'memory.memoryentry' AND s.object_id = e.id
  ORDER BY c.seq DESC LIMIT 1) AS last_seal"""
_WITHOUT_SEALS, _WITH_SEALS = _ROWS.format(""), _ROWS.format(_LAST_SEAL)

# Accounts that verified when this process last looked. After a change, one search takes another
# statement for the seals, or reads them in vain.
_verifying: set[UUID] = set()


def load_rows(account_id: UUID, ids: Sequence[str]) -> list[MemoryEntry]:
    """Return these memories, to be passed to `withhold`. Inside `acting`."""
    query = _WITH_SEALS if account_id in _verifying else _WITHOUT_SEALS
    rows = list(MemoryEntry.objects.raw(query, [account_id, account_id, Ids(ids).array]))
    if rows and rows[0].verify_on_read:
        _verifying.add(account_id)
    elif rows:
        _verifying.discard(account_id)
    return rows
