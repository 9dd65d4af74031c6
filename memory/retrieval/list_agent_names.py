"""Names of the agents that have written in an account."""

from uuid import UUID

from django.db import connection

# A loose index scan of entries_of_agent: it takes one step for each name. DISTINCT would read all
# memories.
_NAMES_SQL = """
WITH RECURSIVE names (name) AS (
  SELECT min(agent_id) FROM memory_memoryentry WHERE account_id = %(account)s AND agent_id > ''
  UNION ALL
  SELECT (SELECT min(agent_id) FROM memory_memoryentry
          WHERE account_id = %(account)s AND agent_id > name)
  FROM names WHERE name IS NOT NULL)
SELECT name FROM names WHERE name IS NOT NULL
"""


def list_agent_names(account_id: UUID) -> list[str]:
    """Return the names of all agents, in database order. Inside `acting`."""
    with connection.cursor() as cursor:
        cursor.execute(_NAMES_SQL, {"account": account_id})
        return [name for (name,) in cursor.fetchall()]
