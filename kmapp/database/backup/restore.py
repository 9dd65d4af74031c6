"""Restore of a backup into an empty database. No Django."""

from pathlib import Path
from typing import Any

import psycopg

from kmapp.database.backup import BackupError
from kmapp.database.backup.archive_file import (
    CHECKPOINTS_MEMBER,
    DUMP_MEMBER,
    KEYS_MEMBER,
    Contents,
    open_archive,
    read_blocks,
    read_contents,
)
from kmapp.database.backup.dump import ReportProgress
from kmapp.database.backup.pg_tools import Address, connect, run_program
from kmapp.ledger.signing import (
    Signed,
    append_statements,
    lock_for_signing,
    parse_line,
    store_public_keys,
)
from kmapp.runtime.private_files import create_private_file

# A restore that is killed leaves the database empty.
RESTORE_OPTIONS = ("--single-transaction", "--no-owner", "--no-comments")
COUNT_OBJECTS_SQL = (
    "SELECT count(*) FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace"
    " AND c.relkind IN ('r', 'p', 'v', 'm', 'S') AND NOT EXISTS"
    " (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')"
)
COUNT_VECTOR_EXTENSION_SQL = "SELECT count(*) FROM pg_extension WHERE extname = 'vector'"


def restore_backup(path: Path, owner: Address, *, report_progress: ReportProgress) -> Contents:
    """Fill the owner's empty database from a backup, in one transaction."""
    with open_archive(path) as bundle, _connect_for_restore(owner) as server:
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


def _connect_for_restore(owner: Address) -> psycopg.Connection[Any]:
    try:
        return connect(owner)
    except psycopg.OperationalError as reason:
        raise BackupError(
            f"The database cannot be opened: {str(reason).strip()}\nIf the database or its role"
            " does not exist, run `provision` first."
        ) from reason


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
    """Write the checkpoints of a backup to `checkpoints_path`.

    If that file exists, add only those of accounts of which it has none. Return whether any were
    written. Public keys are added to the existing ones.
    """
    with open_archive(path) as bundle:
        store_public_keys(bundle.read(KEYS_MEMBER), keys_path)
        backup_lines = bundle.read(CHECKPOINTS_MEMBER)
    if not checkpoints_path.exists():
        create_private_file(checkpoints_path, backup_lines)
        return True
    with lock_for_signing(checkpoints_path):
        accounts = {each.statement.account for each in _parse(checkpoints_path.read_bytes())}
        added = [each for each in _parse(backup_lines) if each.statement.account not in accounts]
        append_statements(checkpoints_path, added)
    return bool(added)


def _parse(lines: bytes) -> list[Signed]:
    parsed = (parse_line(line) for line in lines.splitlines(keepends=True))
    return [each for each in parsed if each]
