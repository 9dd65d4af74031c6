"""Restore of a backup into an empty, provisioned database. No Django."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg

from kmapp.database.backup import BackupError
from kmapp.database.backup.archive_file import (
    DUMP,
    KEYS,
    SIGNED,
    Contents,
    blocks,
    contents_of,
    reading,
)
from kmapp.database.backup.pg_tools import Address, connect, running
from kmapp.ledger.signing import store_public_keys

# A restore that is killed leaves the database empty.
WORDS = ("--single-transaction", "--no-owner", "--no-comments")
HELD = (
    "SELECT count(*) FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace"
    " AND c.relkind IN ('r', 'p', 'v', 'm', 'S') AND NOT EXISTS"
    " (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')"
)
VECTOR = "SELECT count(*) FROM pg_extension WHERE extname = 'vector'"
ReportProgress = Callable[[int], None]  # of bytes read


def restore(path: Path, owner: Address, *, report_progress: ReportProgress) -> Contents:
    """Fill the owner's empty database from a backup, in one transaction."""
    with reading(path) as bundle, connect(owner) as server:
        server.autocommit = True
        contents = contents_of(bundle)
        _refuse_unless_empty(server)
        with bundle.open(DUMP) as member, running("pg_restore", WORDS, owner, server) as program:
            assert program.stdin is not None  # noqa: S101 - for mypy
            for block in blocks(member):
                program.stdin.write(block)
                report_progress(len(block))
        server.execute("ANALYZE")  # a dump has no statistics
    return contents


def _refuse_unless_empty(server: psycopg.Connection[Any]) -> None:
    name = server.info.dbname
    [(held,)] = server.execute(HELD).fetchall()
    if held:
        raise BackupError(
            f"The database {name} is not empty, and nothing is restored over what is there."
            " Choose an empty one, or drop this one and provision it again."
        )
    [(vector,)] = server.execute(VECTOR).fetchall()
    if not vector:
        raise BackupError(f"The database {name} is not provisioned: run manage.py provision first.")


def put_signed_back(path: Path, *, signed: Path, keys: Path) -> bool:
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
