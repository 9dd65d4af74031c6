"""Named advisory locks of PostgreSQL."""

from kmapp.database.raw_sql import fetch_all

ADVISORY_LOCK_SQL = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))"


def lock_until_commit(name: str) -> None:
    """Wait for the lock with this name, and hold it until the transaction ends."""
    fetch_all(ADVISORY_LOCK_SQL, [name])


def try_lock_until_commit(name: str) -> bool:
    """Acquire the lock with this name until the transaction ends. Return False if it is held."""
    statement = "SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))"
    [(is_locked,)] = fetch_all(statement, [name])
    return bool(is_locked)
