"""Named advisory locks of PostgreSQL."""

from django.db import connection

ADVISORY_LOCK_SQL = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"


def lock_until_commit(name: str) -> None:
    """Wait for the lock with this name, and hold it until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(ADVISORY_LOCK_SQL, [name])
