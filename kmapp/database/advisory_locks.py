"""Named advisory locks of PostgreSQL."""

from django.db import connection

ADVISORY_LOCK_SQL = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"


def lock_until_commit(name: str) -> None:
    """Wait for the lock with this name, and hold it until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(ADVISORY_LOCK_SQL, [name])


def try_lock_until_commit(name: str) -> bool:
    """Take the lock with this name until the transaction ends, unless another one holds it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))", [name])
        [is_locked] = cursor.fetchone()
    return bool(is_locked)
