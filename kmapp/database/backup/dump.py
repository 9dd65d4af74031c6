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
    CHECKPOINTS_MEMBER,
    CONTENTS_MEMBER,
    DUMP_MEMBER,
    KEYS_MEMBER,
    Contents,
    create_archive,
    open_archive,
    read_blocks,
    read_contents,
)
from kmapp.database.backup.pg_tools import Address, connect, run_program
from kmapp.ledger.chain import Head
from kmapp.ledger.signing import parse_line, store_public_keys

# The owner's policies let it read all rows; pg_dump requires the option nevertheless.
DUMP_OPTIONS = (
    *("--format=custom", "--compress=1"),  # more takes far longer and saves little
    *("--enable-row-security", "--no-comments", "--no-owner"),
)
LIST_TABLES_SQL = (
    "SELECT c.relname FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace"
    " AND c.relkind = 'r' ORDER BY 1"
)
LIST_HEADS_SQL = (
    "SELECT DISTINCT ON (account_id) account_id::text, seq, commit_hash FROM ledger_commit"
    " ORDER BY account_id, seq DESC"
)
# A restore that is killed leaves the database empty.
RESTORE_OPTIONS = ("--single-transaction", "--no-owner", "--no-comments")
COUNT_OBJECTS_SQL = (
    "SELECT count(*) FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace"
    " AND c.relkind IN ('r', 'p', 'v', 'm', 'S') AND NOT EXISTS"
    " (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')"
)
COUNT_VECTOR_EXTENSION_SQL = "SELECT count(*) FROM pg_extension WHERE extname = 'vector'"
ReportProgress = Callable[[int], None]  # of bytes


def dump_database(
    path: Path,
    owner: Address,
    *,
    checkpoints_path: Path,
    keys_path: Path,
    report_progress: ReportProgress,
) -> Contents:
    """Write a backup of the owner's database with its checkpoints and their public keys."""
    with create_archive(path) as bundle, connect(owner) as server:
        earlier_lines = _read_complete_lines(checkpoints_path)
        server.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        server.read_only = True
        contents = load_contents(server)
        [(snapshot,)] = server.execute("SELECT pg_export_snapshot()")
        options = [*DUMP_OPTIONS, f"--snapshot={snapshot}"]
        with (
            bundle.open(DUMP_MEMBER, "w", force_zip64=True) as member,
            run_program("pg_dump", options, owner, server) as dump,
        ):
            assert dump.stdout is not None  # noqa: S101 - for mypy
            for block in read_blocks(dump.stdout):
                member.write(block)
                report_progress(len(block))
        bundle.writestr(
            CHECKPOINTS_MEMBER,
            earlier_lines
            + _select_lines_signed_since(
                earlier_lines, _read_complete_lines(checkpoints_path), contents
            ),
        )
        bundle.writestr(KEYS_MEMBER, _read_complete_lines(keys_path))
        bundle.writestr(CONTENTS_MEMBER, contents.text())
    return contents


def load_contents(server: psycopg.Connection[Any]) -> Contents:
    rows = {}
    for (table,) in server.execute(LIST_TABLES_SQL).fetchall():
        [(rows[table],)] = server.execute(SQL("SELECT count(*) FROM {}").format(Identifier(table)))
    heads = {}
    if "ledger_commit" in rows:
        heads = {row[0]: Head(row[1], row[2]) for row in server.execute(LIST_HEADS_SQL)}
    return Contents(
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        kmapp=kmapp.__version__,
        postgres=server.info.server_version // 10_000,
        rows=rows,
        heads=heads,
    )


def _read_complete_lines(file: Path) -> bytes:
    """Return the whole lines of a file; a last line cut short by a crash is dropped."""
    signed_lines = file.read_bytes() if file.exists() else b""
    return signed_lines[: signed_lines.rfind(b"\n") + 1]


def _select_lines_signed_since(
    earlier_lines: bytes, present_lines: bytes, contents: Contents
) -> bytes:
    """Return the lines signed since `earlier_lines` of commits that the dump contains.

    Earlier lines are included in any case: if the chain is shorter, the backup must not hide it.
    """
    lines = []
    for line in present_lines[len(earlier_lines) :].splitlines(keepends=True):
        if record := parse_line(line):
            head = contents.heads.get(str(record.statement.account))
            if head is not None and record.statement.seq <= head.seq:
                lines.append(line)
    return b"".join(lines)


def restore_backup(path: Path, owner: Address, *, report_progress: ReportProgress) -> Contents:
    """Fill the owner's empty database from a backup, in one transaction."""
    with open_archive(path) as bundle, connect(owner) as server:
        server.autocommit = True
        contents = read_contents(bundle)
        _require_empty_database(server)
        with (
            bundle.open(DUMP_MEMBER) as member,
            run_program("pg_restore", RESTORE_OPTIONS, owner, server) as program,
        ):
            assert program.stdin is not None  # noqa: S101 - for mypy
            for block in read_blocks(member):
                program.stdin.write(block)
                report_progress(len(block))
        server.execute("ANALYZE")  # a dump has no statistics
    return contents


def _require_empty_database(server: psycopg.Connection[Any]) -> None:
    name = server.info.dbname
    [(objects,)] = server.execute(COUNT_OBJECTS_SQL).fetchall()
    if objects:
        raise BackupError(
            f"The database {name} is not empty. A backup can only be restored into an empty "
            "database: choose another one, or drop this one and provision it again."
        )
    [(vector,)] = server.execute(COUNT_VECTOR_EXTENSION_SQL).fetchall()
    if not vector:
        raise BackupError(f"The database {name} is not provisioned: run `provision` first.")


def restore_checkpoints(path: Path, *, checkpoints_path: Path, keys_path: Path) -> bool:
    """Restore the checkpoints of a backup unless there is a file; return whether it was restored.

    Public keys are added to the existing ones.
    """
    with open_archive(path) as bundle:
        store_public_keys(bundle.read(KEYS_MEMBER), keys_path)
        if checkpoints_path.exists():
            return False
        checkpoints_path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        checkpoints_path.touch(mode=0o600)
        checkpoints_path.write_bytes(bundle.read(CHECKPOINTS_MEMBER))
        return True
