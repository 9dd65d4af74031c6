"""Verification of current rows against the last sealed digest of each."""

from collections.abc import Sequence
from typing import Any

from psycopg import sql

from kmapp.ledger.fsck.chain import Chain, SealedChange
from kmapp.ledger.fsck.database_snapshot import Snapshot
from kmapp.ledger.fsck.findings import Findings
from kmapp.ledger.fsck.hashing import FORMAT_TIME_SQL, compute_digest, normalize_number, parse_jsonb
from kmapp.ledger.fsck.sealed_tables import SEALED, get_object_type

_ROWS_SQL = """
SELECT t.id::text, t.commit_id::text, s.salt, {columns}
  FROM {table} t LEFT JOIN ledger_seal s
    ON s.account_id = t.account_id AND s.object_type = %s AND s.object_id = t.id
   AND s.commit_id = t.commit_id
 WHERE t.account_id = %s AND t.commit_id IS NOT NULL
"""
# The account's row has no commit_id. Its seals are few; the last one is in effect.
_ACCOUNT_SQL = """
SELECT t.id::text, s.commit_id::text, s.salt, {columns}
  FROM {table} t LEFT JOIN (ledger_seal s JOIN ledger_commit c ON c.id = s.commit_id)
    ON s.account_id = t.id AND s.object_type = %s AND s.object_id = t.id
 WHERE t.id = %s ORDER BY c.seq DESC NULLS LAST LIMIT 1
"""


def check_rows(snapshot: Snapshot, findings: Findings, chain: Chain) -> None:
    """Check that every sealed row exists as it was sealed, and no other row exists."""
    unread_changes = dict(chain.last_changes)
    for table, unsealed_fields in SEALED.items():
        kind = get_object_type(table)
        columns = {
            name: sql_type
            for name, sql_type in snapshot.load_columns(table).items()
            if name not in unsealed_fields
        }
        if not columns:
            continue  # an older database, without this table
        query = _build_query(table, columns)
        for ident, commit, salt, *values in snapshot.stream(query, kind, snapshot.account):
            findings.rows += 1
            name = f"{kind}:{ident}"
            message = _find_error(
                unread_changes.pop(name, None), commit, salt, _build_body(columns, values)
            )
            if message:
                findings.add("row", message, snapshot.account, name=name)
    sealed_types = {get_object_type(table) for table in SEALED}
    for name, sealed in unread_changes.items():
        if name.partition(":")[0] not in sealed_types:
            message = "is of a kind that fsck does not know"
        elif sealed.digest is not None:
            message = f"has vanished: commit {sealed.seq} sealed it and no commit erased it"
        else:
            continue
        findings.add("row", message, snapshot.account, sealed.seq, name)


def _find_error(
    sealed: SealedChange | None, commit: str | None, salt: bytes | None, body: dict[str, Any]
) -> str | None:
    if sealed is None:
        return "was never sealed"
    if sealed.digest is None:
        return f"is there, though commit {sealed.seq} erased it"
    if commit != sealed.commit:
        return f"refers to a commit other than its last one, {sealed.seq}"
    if salt is None:
        return f"has lost the salt of commit {sealed.seq}"
    if compute_digest(salt, body) != sealed.digest:
        return f"differs from the state sealed by commit {sealed.seq}"
    return None


def _build_query(table: str, columns: dict[str, str]) -> sql.Composed:
    has_commit_id = table != "accounts_account"
    return sql.SQL(_ROWS_SQL if has_commit_id else _ACCOUNT_SQL).format(
        table=sql.Identifier(table),
        columns=sql.SQL(", ").join(
            _build_column(name, sql_type) for name, sql_type in columns.items()
        ),
    )


def _build_column(name: str, sql_type: str) -> sql.Composable:
    column = sql.SQL("t.{}").format(sql.Identifier(name))
    if sql_type == "timestamp with time zone":
        return sql.SQL(FORMAT_TIME_SQL).format(column)
    if sql_type in ("uuid", "jsonb"):
        return sql.SQL("{}::text").format(column)
    if sql_type == "uuid[]":
        return sql.SQL("{}::text[]").format(column)
    return column


def _build_body(columns: dict[str, str], values: Sequence[Any]) -> dict[str, Any]:
    body: dict[str, Any] = {}
    for (name, sql_type), value in zip(columns.items(), values, strict=True):
        loaded_value = parse_jsonb(value) if sql_type == "jsonb" else value
        if loaded_value is None or loaded_value is False or loaded_value in ("", [], {}):
            continue
        body[name] = (
            normalize_number(loaded_value) if isinstance(loaded_value, float) else loaded_value
        )
    return body
