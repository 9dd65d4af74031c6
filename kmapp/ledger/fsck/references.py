"""Verification of references between the rows of an account."""

from psycopg import sql

from kmapp.ledger.fsck.database_snapshot import Snapshot
from kmapp.ledger.fsck.findings import Findings
from kmapp.ledger.fsck.sealed_tables import get_object_type

_REFERENCES_SQL = """
SELECT c.conrelid::regclass::text, c.confrelid::regclass::text, a.attname
  FROM pg_constraint c
  JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey)
 WHERE c.contype = 'f' AND cardinality(c.conkey) = 2 AND a.attname <> 'account_id'
 ORDER BY 1, 3
"""
_BROKEN_REFERENCES_SQL = """
SELECT t.id::text FROM {table} t LEFT JOIN {target} r
    ON r.account_id = t.account_id AND r.id = t.{column}
 WHERE t.account_id = %s AND t.{column} IS NOT NULL AND r.id IS NULL
"""


def check_references(snapshot: Snapshot, findings: Findings) -> None:
    for table, target, column in snapshot.fetch_all(_REFERENCES_SQL):
        query = sql.SQL(_BROKEN_REFERENCES_SQL).format(
            table=sql.Identifier(table),
            target=sql.Identifier(target),
            column=sql.Identifier(column),
        )
        for (ident,) in snapshot.fetch_all(query, snapshot.account):
            message = f"{column} names no row of {target} in this account"
            name = f"{get_object_type(table)}:{ident}"
            findings.add("reference", message, snapshot.account, name=name)
