"""Backup of a running database. No Django."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
from psycopg.sql import SQL, Identifier

import kmapp
from kmapp.database.backup.archive_file import (
    CHECKPOINTS_MEMBER,
    CONTENTS_MEMBER,
    DUMP_MEMBER,
    KEYS_MEMBER,
    Contents,
    create_archive,
    read_blocks,
)
from kmapp.database.backup.pg_tools import Address, connect, run_program
from kmapp.ledger.chain import Head
from kmapp.ledger.signing import parse_line

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
    """Return the lines after `earlier_lines` whose commits the dump contains.

    The caller stores the earlier lines in any case: if the chain of the dump is shorter than they
    state, the backup must not hide it.
    """
    lines = []
    for line in present_lines[len(earlier_lines) :].splitlines(keepends=True):
        if record := parse_line(line):
            head = contents.heads.get(str(record.statement.account))
            if head is not None and record.statement.seq <= head.seq:
                lines.append(line)
    return b"".join(lines)
