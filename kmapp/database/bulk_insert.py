"""Inserts of many rows, of one or several tables in one statement.

The rows of a table are one JSON value, which Postgres converts to the types of its columns. For a
table of thirty columns, `bulk_create` needs five times as long to build its statement.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from operator import attrgetter
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Model

from kmapp.database.psycopg_cursors import prepared_cursor


@dataclass(frozen=True, slots=True)
class Insert:
    """An INSERT and its values, to run in one statement with others."""

    sql: str
    values: Sequence[Any]


def insert_rows(
    *tables: Sequence[Model], then_select: str = "", parameters: Sequence[Any] = ()
) -> None:
    """Insert rows with all of their columns; each sequence has the rows of one model.

    `then_select` is a SELECT that runs in the same statement, after the rows are inserted.
    """
    nonempty_tables = [rows for rows in tables if rows]
    if not nonempty_tables:
        return
    inserts = [
        f"t{i} AS ({build_insert_sql(type(rows[0]))} RETURNING 1)"
        for i, rows in enumerate(nonempty_tables)
    ]
    counts = " + ".join(f"(SELECT count(*) FROM t{i})" for i in range(len(nonempty_tables)))  # noqa: S608 - as below
    with prepared_cursor() as cursor:
        cursor.execute(
            f"WITH {', '.join(inserts)}, inserted AS MATERIALIZED (SELECT {counts} AS rows) "  # noqa: S608 - names of tables and columns
            f"{then_select or 'SELECT rows FROM inserted'}",
            [*map(encode_rows, nonempty_tables), *parameters],
        )
    for row in (row for rows in nonempty_tables for row in rows):
        mark_inserted(row)


@cache
def build_insert_sql(model: type[Model]) -> str:
    """Return an INSERT of rows that `encode_rows` encoded."""
    quote = connection.ops.quote_name
    columns = ", ".join(quote(str(field.column)) for field in model._meta.concrete_fields)
    table = quote(model._meta.db_table)
    return (
        f"INSERT INTO {table} ({columns}) "  # noqa: S608 - names of tables and columns
        f"SELECT {columns} FROM json_populate_recordset(NULL::{table}, %s::json)"
    )


def encode_rows(rows: Sequence[Model]) -> str:
    """Return the columns of rows of one model as JSON."""
    fields = rows[0]._meta.concrete_fields
    columns = [field.column for field in fields]
    values = attrgetter(*(field.attname for field in fields))
    records = [dict(zip(columns, values(row), strict=True)) for row in rows]
    return json.dumps(records, default=_encode, ensure_ascii=False, allow_nan=False)


def mark_inserted(row: Model) -> None:
    """Let a later `save` update the row."""
    row._state.adding = False  # noqa: SLF001 - as `bulk_create` does
    row._state.db = connection.alias  # noqa: SLF001


def _encode(value: Any) -> str:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, bytes):
        return f"\\x{value.hex()}"
    raise TypeError(f"A {type(value).__name__} cannot be inserted as JSON.")
