"""Tampering by a superuser, past triggers, constraints and row-level security."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

import psycopg
from django.conf import settings
from psycopg import sql

from kmapp.ledger.chain import GENESIS_HASH, Link, compute_commit_hash
from kmapp.runtime import embedded

# SQL for a different value of the same type; {0} is the column.
_OTHER = {
    "uuid": "gen_random_uuid()",
    "boolean": "NOT {0}",
    "timestamp with time zone": "coalesce({0}, now()) + interval '1 microsecond'",
    "double precision": "abs(coalesce({0}, 0) - 0.25)",
    "jsonb": "jsonb_build_object('was', {0}, 'spoiled', 1.5)",
    "character varying[]": "{0} || 'spoiled'::varchar",
    "uuid[]": "{0} || gen_random_uuid()",
    "smallint": "{0} + 1000",
    "integer": "{0} + 1000",
    "bigint": "{0} + 1000",
}
_OTHER_HASH = "translate({0}, '0123456789abcdef', '123456789abcdef0')"
_OTHER_TEXT = "left(coalesce({0}, '') || 'x', 4) || 'Z'"


class Intruder:
    """Writes to a database as its superuser, after dropping its check constraints."""

    def __init__(self, database: str) -> None:
        url = embedded.database_url(settings.DATA_DIR, "superuser")
        self.connection = psycopg.connect(
            url.replace(f"/{embedded.DATABASE}?", f"/{database}?"),
            autocommit=True,
            options="-c session_replication_role=replica",
        )
        drops = self.run(
            "SELECT format('ALTER TABLE %s ', conrelid::regclass)"
            " || string_agg(format('DROP CONSTRAINT %I', conname), ', ') FROM pg_constraint"
            " WHERE contype = 'c' AND connamespace = 'public'::regnamespace AND conrelid <> 0"
            " GROUP BY conrelid"
        )
        if statements := [statement for [statement] in drops]:
            self.run("; ".join(statements))  # in one transaction

    def run(self, query: str, *params: Any) -> psycopg.Cursor[Any]:
        return self.connection.execute(query, params or None)

    def one(self, query: str, *params: Any) -> Any:
        row = self.run(query, *params).fetchone()
        assert row is not None, query
        return row[0]

    def columns(self, table: str) -> dict[str, str]:
        rows = self.run(
            "SELECT attname, format_type(atttypid, NULL) FROM pg_attribute"
            " WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped",
            table,
        )
        return dict(rows.fetchall())

    @contextmanager
    def spoiled(self, table: str, column: str, ident: Any) -> Iterator[None]:
        """Change one column of one row for the time of the block."""
        named = {
            "t": sql.Identifier(table),
            "c": sql.Identifier(column),
            "i": sql.Literal(ident),
            "saved": sql.Identifier(f"saved_{table}_{column}"),
        }
        other = sql.SQL(self._other(table, column)).format(sql.Identifier(column))
        self._do("CREATE TEMP TABLE {saved} AS SELECT * FROM {t} WHERE id = {i}", named)
        changed = self._do("UPDATE {t} SET {c} = {o} WHERE id = {i} RETURNING id", named, o=other)
        (now,) = changed.fetchall()
        try:
            yield
        finally:
            self._do("DELETE FROM {t} WHERE id = {n}", named, n=sql.Literal(now[0]))
            self._do("INSERT INTO {t} TABLE {saved}", named)
            self._do("DROP TABLE {saved}", named)

    def rehash(self, links: list[Link], account: Any) -> None:
        """Compute all hashes of a chain again, so that its links are consistent."""
        parent = GENESIS_HASH
        for link in links:
            fitting = replace(link, parent_hash=parent)
            parent = compute_commit_hash(fitting)
            self.run(
                "UPDATE ledger_commit SET actor = %s, parent_hash = %s, commit_hash = %s"
                " WHERE account_id = %s AND seq = %s",
                *(link.actor, fitting.parent_hash, parent, account, link.seq),
            )

    def _other(self, table: str, column: str) -> str:
        kind = self.columns(table)[column]
        if kind in _OTHER:
            return _OTHER[kind]
        return _OTHER_HASH if column.endswith(("hash", "digest", "sha256")) else _OTHER_TEXT

    def _do(
        self, query: str, named: dict[str, sql.Composable], **more: sql.Composable
    ) -> psycopg.Cursor[Any]:
        return self.connection.execute(sql.SQL(query).format(**named, **more))


@contextmanager
def intrude(database: str) -> Iterator[Intruder]:
    intruder = Intruder(database)
    with closing(intruder.connection):
        yield intruder
