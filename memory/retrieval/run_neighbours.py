"""The order of entries in a run: by time observed, commit and position."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db import connection

# Neighbours have the same audience and status, because their texts are used with the entry's.
# One index range per entry and direction: (account, run, observed_at).
_NEIGHBOURS_SQL = """
SELECT e.id, before.id, before.content, after.id
FROM memory_memoryentry e
JOIN ledger_commit c ON c.account_id = e.account_id AND c.id = e.written_in
LEFT JOIN LATERAL (
  SELECT o.id, o.content FROM memory_memoryentry o
  JOIN ledger_commit oc ON oc.account_id = o.account_id AND oc.id = o.written_in
  WHERE o.account_id = e.account_id AND o.run_id = e.run_id AND o.user_id = e.user_id
    AND (o.agent_id, o.app_id, o.scope, o.visibility, o.status)
      = (e.agent_id, e.app_id, e.scope, e.visibility, e.status)
    AND o.observed_at <= e.observed_at
    AND (o.observed_at, oc.seq, o.position) < (e.observed_at, c.seq, e.position)
  ORDER BY o.observed_at DESC, oc.seq DESC, o.position DESC LIMIT 1
) before ON true
LEFT JOIN LATERAL (
  SELECT o.id FROM memory_memoryentry o
  JOIN ledger_commit oc ON oc.account_id = o.account_id AND oc.id = o.written_in
  WHERE o.account_id = e.account_id AND o.run_id = e.run_id AND o.user_id = e.user_id
    AND (o.agent_id, o.app_id, o.scope, o.visibility, o.status)
      = (e.agent_id, e.app_id, e.scope, e.visibility, e.status)
    AND o.observed_at >= e.observed_at
    AND (o.observed_at, oc.seq, o.position) > (e.observed_at, c.seq, e.position)
  ORDER BY o.observed_at, oc.seq, o.position LIMIT 1
) after ON true
WHERE e.account_id = %s AND e.id = ANY (%s) AND e.run_id <> ''
  AND e.status IN ('active', 'proposed')
ORDER BY e.id
"""


@dataclass(frozen=True, slots=True)
class Neighbours:
    """An entry of a run, with its predecessor and successor."""

    pk: UUID
    before_id: UUID | None
    before: str | None
    after_id: UUID | None


def load_neighbours(account_id: UUID, ids: Sequence[UUID]) -> list[Neighbours]:
    with connection.cursor() as cursor:
        cursor.execute(_NEIGHBOURS_SQL, [account_id, list(ids)])
        return [Neighbours(*row) for row in cursor.fetchall()]
