"""Removal of erased content from the files of the database. No Django.

A deleted row remains in its page until that is rewritten, in the statistics of the planner, in the
write-ahead log until its segments are removed, and in Valkey's append-only file.
"""

import time
from collections.abc import Callable

import psycopg
from psycopg.sql import SQL, Identifier
from redis import Redis

from kmapp.database.backup.dump import LIST_TABLES_SQL
from kmapp.database.backup.pg_tools import WITHOUT_TIMEOUTS, Address, connect

MAX_WAIT_SECONDS = 60  # seconds for a table lock or a transaction; the product needs much less
# Snapshots of this database, and transactions of all databases, because a new snapshot here reaches
# back to them. The snapshot of a lazy vacuum retains no rows.
COUNT_EARLIER_TRANSACTIONS_SQL = """
    SELECT count(*) FROM (
        SELECT greatest(age(backend_xid), CASE
            WHEN coalesce(datname, current_database()) = current_database()
            AND pid NOT IN (SELECT pid FROM pg_stat_progress_vacuum) THEN age(backend_xmin) END)
        FROM pg_stat_activity WHERE pid <> pg_backend_pid()
        UNION ALL SELECT age(transaction) FROM pg_prepared_xacts
        UNION ALL SELECT greatest(age(xmin), age(catalog_xmin)) FROM pg_replication_slots
    ) AS seen (age) WHERE age > age(%s::xid)
"""
COUNT_LATER_SEGMENTS_SQL = (
    "SELECT count(*) FROM pg_ls_waldir()"
    " WHERE name ~ '^[0-9A-F]{24}$' AND name > pg_walfile_name(pg_current_wal_lsn())"
)
COUNT_EARLIER_SEGMENTS_SQL = COUNT_LATER_SEGMENTS_SQL.replace("name >", "name <")
MAX_ATTEMPTS = 5
KEYS_PER_CALL = 500
ReportProgress = Callable[[str], None]


class ScrubError(Exception):
    """An error for the person at the terminal."""


def rewrite_tables(owner: Address, report_progress: ReportProgress) -> None:
    """Rewrite every table with its indexes and statistics."""
    with connect(owner) as server:
        server.autocommit = True
        server.execute(SQL("SET lock_timeout = {}").format(f"{MAX_WAIT_SECONDS}s"))
        _wait_for_older_transactions(server, report_progress)
        for (table,) in server.execute(LIST_TABLES_SQL).fetchall():
            started = time.monotonic()
            server.execute(SQL("VACUUM (FULL, ANALYZE) {}").format(Identifier(table)))
            report_progress(f"{table}: {time.monotonic() - started:.1f} s")
        _wait_for_older_transactions(server, report_progress)
        server.execute("VACUUM (FULL) pg_catalog.pg_statistic")


def _wait_for_older_transactions(
    server: psycopg.Connection, report_progress: ReportProgress
) -> None:
    """Wait for older transactions, because VACUUM copies deleted rows that they can see."""
    [(transaction_id,)] = server.execute("SELECT pg_current_xact_id()::xid::text").fetchall()
    deadline = time.monotonic() + MAX_WAIT_SECONDS
    reported_count = 0
    while count := _fetch_count(server, COUNT_EARLIER_TRANSACTIONS_SQL, transaction_id):
        if time.monotonic() > deadline:
            raise ScrubError(
                f"{count} older transactions can still see erased rows. Wait until they end, or "
                "terminate them. See pg_stat_activity (backend_xid, backend_xmin), "
                "pg_prepared_xacts and pg_replication_slots."
            )
        if count != reported_count:
            report_progress(f"transactions from before that have to end first: {count}")
        reported_count = count
        time.sleep(0.1)


def renew_write_ahead_log(superuser_url: str) -> None:
    """Remove all old segments, and overwrite those that were recycled."""
    with psycopg.connect(superuser_url, autocommit=True, options=WITHOUT_TIMEOUTS) as server:
        _change_setting(server, "ALTER SYSTEM SET wal_recycle = off")
        try:
            for _ in range(MAX_ATTEMPTS):
                if _remove_segments(server):
                    return
            raise ScrubError(
                "Old segments of the write-ahead log remain because a replication slot or an "
                "archive still needs them. See pg_replication_slots and archive_status."
            )
        finally:
            _change_setting(server, "ALTER SYSTEM RESET wal_recycle")


def _remove_segments(server: psycopg.Connection) -> bool:
    server.execute("CHECKPOINT")
    for _ in range(_fetch_count(server, COUNT_LATER_SEGMENTS_SQL) + 1):
        server.execute("SELECT pg_logical_emit_message(false, 'scrub', '')")
        server.execute("SELECT pg_switch_wal()")
    server.execute("SELECT pg_logical_emit_message(false, 'scrub', '')")
    server.execute("CHECKPOINT")
    return _fetch_count(server, COUNT_EARLIER_SEGMENTS_SQL) == 0


def _change_setting(server: psycopg.Connection, statement: str) -> None:
    server.execute(statement)
    server.execute("SELECT pg_reload_conf()")


def _fetch_count(server: psycopg.Connection, query: str, *values: str) -> int:
    [(number,)] = server.execute(query, values).fetchall()
    return int(number)


def rewrite_append_only_file(valkey: Redis) -> bool:
    """Let Valkey rewrite its file from memory. Return False if it has no such file.

    Vectors of recent queries are deleted first; their keys are digests of the queries.
    """
    keys = list(valkey.scan_iter(match="*query-vector:*", count=KEYS_PER_CALL))
    for start in range(0, len(keys), KEYS_PER_CALL):
        valkey.unlink(*keys[start : start + KEYS_PER_CALL])
    if not valkey.info("persistence")["aof_enabled"]:
        return False
    valkey.bgrewriteaof()
    while True:
        state = valkey.info("persistence")
        if not (state["aof_rewrite_in_progress"] or state["aof_rewrite_scheduled"]):
            break
        time.sleep(0.1)
    if state["aof_last_bgrewrite_status"] != "ok":
        raise ScrubError("Valkey could not rewrite its append-only file: see its log.")
    return True
