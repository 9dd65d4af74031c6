"""Removal of erased content from the files of the database. No Django.

A deleted row remains in its page until that is rewritten, in the statistics of the planner, in the
write-ahead log until its segments are removed, and in Valkey's append-only file.
"""

import time
from collections.abc import Callable

import psycopg
from psycopg.sql import SQL, Identifier
from redis import Redis

from kmapp.database.backup.dump import TABLES
from kmapp.database.backup.pg_tools import PATIENT, Address, connect

PATIENCE = 60  # seconds for a table lock or a transaction; the product needs much less
# Snapshots of this database, and transactions of all databases, because a new snapshot here reaches
# back to them. The snapshot of a lazy vacuum retains no rows.
EARLIER_TRANSACTIONS = """
    SELECT count(*) FROM (
        SELECT greatest(age(backend_xid), CASE
            WHEN coalesce(datname, current_database()) = current_database()
            AND pid NOT IN (SELECT pid FROM pg_stat_progress_vacuum) THEN age(backend_xmin) END)
        FROM pg_stat_activity WHERE pid <> pg_backend_pid()
        UNION ALL SELECT age(transaction) FROM pg_prepared_xacts
        UNION ALL SELECT greatest(age(xmin), age(catalog_xmin)) FROM pg_replication_slots
    ) AS seen (age) WHERE age > age(%s::xid)
"""
LATER_SEGMENTS = (
    "SELECT count(*) FROM pg_ls_waldir()"
    " WHERE name ~ '^[0-9A-F]{24}$' AND name > pg_walfile_name(pg_current_wal_lsn())"
)
EARLIER_SEGMENTS = LATER_SEGMENTS.replace("name >", "name <")
TRIES = 5
CHUNK = 500
ReportProgress = Callable[[str], None]


class ScrubError(Exception):
    """An error for the person at the terminal."""


def rewrite_tables(owner: Address, report_progress: ReportProgress) -> None:
    """Rewrite every table with its indexes and statistics."""
    with connect(owner) as server:
        server.autocommit = True
        server.execute(SQL("SET lock_timeout = {}").format(f"{PATIENCE}s"))
        _wait_for_older_transactions(server, report_progress)
        for (table,) in server.execute(TABLES).fetchall():
            began = time.monotonic()
            server.execute(SQL("VACUUM (FULL, ANALYZE) {}").format(Identifier(table)))
            report_progress(f"{table}: {time.monotonic() - began:.1f} s")
        _wait_for_older_transactions(server, report_progress)
        server.execute("VACUUM (FULL) pg_catalog.pg_statistic")


def _wait_for_older_transactions(
    server: psycopg.Connection, report_progress: ReportProgress
) -> None:
    """Wait for older transactions, because VACUUM copies deleted rows that they can see."""
    [(now,)] = server.execute("SELECT pg_current_xact_id()::xid::text").fetchall()
    patient_until = time.monotonic() + PATIENCE
    reported = 0
    while number := _count(server, EARLIER_TRANSACTIONS, now):
        if time.monotonic() > patient_until:
            raise ScrubError(
                f"{number} older transactions can still see erased rows. Wait until they end, or "
                "terminate them. See pg_stat_activity (backend_xid, backend_xmin), "
                "pg_prepared_xacts and pg_replication_slots."
            )
        if number != reported:
            report_progress(f"transactions from before that have to end first: {number}")
        reported = number
        time.sleep(0.1)


def renew_write_ahead_log(superuser_url: str) -> None:
    """Remove all old segments, and fill those that were recycled."""
    with psycopg.connect(superuser_url, autocommit=True, options=PATIENT) as server:
        _set(server, "ALTER SYSTEM SET wal_recycle = off")
        try:
            for _ in range(TRIES):
                if _remove_segments(server):
                    return
            raise ScrubError(
                "Old segments of the write-ahead log remain because a replication slot or an "
                "archive still needs them. See pg_replication_slots and archive_status."
            )
        finally:
            _set(server, "ALTER SYSTEM RESET wal_recycle")


def _remove_segments(server: psycopg.Connection) -> bool:
    server.execute("CHECKPOINT")
    for _ in range(_count(server, LATER_SEGMENTS) + 1):
        server.execute("SELECT pg_logical_emit_message(false, 'scrub', '')")
        server.execute("SELECT pg_switch_wal()")
    server.execute("SELECT pg_logical_emit_message(false, 'scrub', '')")
    server.execute("CHECKPOINT")
    return _count(server, EARLIER_SEGMENTS) == 0


def _set(server: psycopg.Connection, statement: str) -> None:
    server.execute(statement)
    server.execute("SELECT pg_reload_conf()")


def _count(server: psycopg.Connection, query: str, *values: str) -> int:
    [(number,)] = server.execute(query, values).fetchall()
    return int(number)


def rewrite_append_only_file(valkey: Redis) -> bool:
    """Let Valkey rewrite its file from memory. Return False if it has no such file.

    Vectors of recent queries are deleted first; their keys are digests of the queries.
    """
    keys = list(valkey.scan_iter(match="*query-vector:*", count=CHUNK))
    for start in range(0, len(keys), CHUNK):
        valkey.unlink(*keys[start : start + CHUNK])
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
