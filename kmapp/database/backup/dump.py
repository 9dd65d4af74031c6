"""Backup of a running database, and restore into an empty one. No Django."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
from psycopg.sql import SQL, Identifier

import kmapp
from kmapp.database.backup import BackupError
from kmapp.database.backup.archive_file import (
    CONTENTS,
    DUMP,
    KEYS,
    SIGNED,
    Contents,
    blocks,
    contents_of,
    reading,
    writing,
)
from kmapp.database.backup.pg_tools import Address, connect, running
from kmapp.ledger.chain import Head
from kmapp.ledger.signing import parse, store_public_keys

# The owner's policies let it read all rows; pg_dump requires the option nevertheless.
WORDS = (
    *("--format=custom", "--compress=1"),  # more takes far longer and saves little
    *("--enable-row-security", "--no-comments", "--no-owner"),
)
TABLES = (
    "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace"
    " AND c.relkind = 'r' ORDER BY 1"
)
HEADS = (
    "SELECT DISTINCT ON (account_id) account_id::text, seq, commit_hash FROM ledger_commit"
    " ORDER BY account_id, seq DESC"
)
# A restore that is killed leaves the database empty.
RESTORE_WORDS = ("--single-transaction", "--no-owner", "--no-comments")
OBJECTS = (
    "SELECT count(*) FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace"
    " AND c.relkind IN ('r', 'p', 'v', 'm', 'S') AND NOT EXISTS"
    " (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')"
)
VECTOR = "SELECT count(*) FROM pg_extension WHERE extname = 'vector'"
ReportProgress = Callable[[int], None]  # of bytes


def back_up(
    path: Path, owner: Address, *, signed: Path, keys: Path, report_progress: ReportProgress
) -> Contents:
    """Write a backup of the owner's database. `signed` and `keys` are the checkpoint files."""
    with writing(path) as bundle, connect(owner) as server:
        before = _read(signed)
        server.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        server.read_only = True
        contents = contents_of_database(server)
        [(snapshot,)] = server.execute("SELECT pg_export_snapshot()")
        words = [*WORDS, f"--snapshot={snapshot}"]
        with (
            bundle.open(DUMP, "w", force_zip64=True) as member,
            running("pg_dump", words, owner, server) as dump,
        ):
            assert dump.stdout is not None  # noqa: S101 - for mypy
            for block in blocks(dump.stdout):
                member.write(block)
                report_progress(len(block))
        bundle.writestr(SIGNED, before + _lines_signed_since(before, _read(signed), contents))
        bundle.writestr(KEYS, _read(keys))
        bundle.writestr(CONTENTS, contents.text())
    return contents


def contents_of_database(server: psycopg.Connection[Any]) -> Contents:
    rows = {}
    for (table,) in server.execute(TABLES).fetchall():
        [(rows[table],)] = server.execute(SQL("SELECT count(*) FROM {}").format(Identifier(table)))
    heads = {}
    if "ledger_commit" in rows:
        heads = {row[0]: Head(row[1], row[2]) for row in server.execute(HEADS)}
    return Contents(
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        kmapp=kmapp.__version__,
        postgres=server.info.server_version // 10_000,
        rows=rows,
        heads=heads,
    )


def _read(file: Path) -> bytes:
    """Return the whole lines of a file; a last line cut short by a crash is dropped."""
    signed_lines = file.read_bytes() if file.exists() else b""
    return signed_lines[: signed_lines.rfind(b"\n") + 1]


def _lines_signed_since(before: bytes, after: bytes, contents: Contents) -> bytes:
    """Return the lines signed since `before` of commits that the dump contains.

    Earlier lines are included in any case: if the chain is shorter, the backup must not hide it.
    """
    lines = []
    for line in after[len(before) :].splitlines(keepends=True):
        if record := parse(line):
            head = contents.heads.get(str(record.statement.account))
            if head is not None and record.statement.seq <= head.seq:
                lines.append(line)
    return b"".join(lines)


def restore(path: Path, owner: Address, *, report_progress: ReportProgress) -> Contents:
    """Fill the owner's empty database from a backup, in one transaction."""
    with reading(path) as bundle, connect(owner) as server:
        server.autocommit = True
        contents = contents_of(bundle)
        _require_empty_database(server)
        with (
            bundle.open(DUMP) as member,
            running("pg_restore", RESTORE_WORDS, owner, server) as program,
        ):
            assert program.stdin is not None  # noqa: S101 - for mypy
            for block in blocks(member):
                program.stdin.write(block)
                report_progress(len(block))
        server.execute("ANALYZE")  # a dump has no statistics
    return contents


def _require_empty_database(server: psycopg.Connection[Any]) -> None:
    name = server.info.dbname
    [(objects,)] = server.execute(OBJECTS).fetchall()
    if objects:
        raise BackupError(
            f"The database {name} is not empty. A backup can only be restored into an empty "
            "database: choose another one, or drop this one and provision it again."
        )
    [(vector,)] = server.execute(VECTOR).fetchall()
    if not vector:
        raise BackupError(f"The database {name} is not provisioned: run manage.py provision first.")


def restore_checkpoints(path: Path, *, signed: Path, keys: Path) -> bool:
    """Restore the checkpoints of a backup unless there is a file; return whether it was restored.

    Public keys are added to the existing ones.
    """
    with reading(path) as bundle:
        store_public_keys(bundle.read(KEYS), keys)
        if signed.exists():
            return False
        signed.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        signed.touch(mode=0o600)
        signed.write_bytes(bundle.read(SIGNED))
        return True
