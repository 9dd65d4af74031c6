"""Inserts of many rows, of one or several tables in one statement.

The rows of a table are JSON, which Postgres converts to the types of its columns. For a table of
thirty columns, `bulk_create` needs five times as long to build its statement. Most columns have one
value in all rows of a batch, which is sent and converted once.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from json.encoder import encode_basestring
from operator import attrgetter
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Model

from kmapp.database.psycopg_cursors import prepared_cursor
from kmapp.database.shared_values import has_one_value


@dataclass(frozen=True, slots=True)
class Insert:
    """An INSERT and its values, to run in one statement with others."""

    sql: str
    values: Sequence[Any]


@dataclass(frozen=True, slots=True)
class NewRows:
    """Rows of a table by column, without an object for each. Columns have the same length."""

    model: type[Model]
    columns: Mapping[str, Sequence[Any]]  # every column of the table

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))


class EncodedJson(str):
    """The text of a JSON value for a column of the type jsonb."""

    __slots__ = ()


def insert_rows(
    *tables: Sequence[Model] | NewRows, then_select: str = "", parameters: Sequence[Any] = ()
) -> None:
    """Insert rows with all of their columns; each sequence has the rows of one model.

    `then_select` is a SELECT that runs in the same statement, after the rows are inserted.
    """
    nonempty_tables = [_collect_columns(rows) for rows in tables if rows]
    if not nonempty_tables:
        return
    inserts = [
        f"t{i} AS ({build_insert_sql(rows.model)} RETURNING 1)"
        for i, rows in enumerate(nonempty_tables)
    ]
    counts = " + ".join(f"(SELECT count(*) FROM t{i})" for i in range(len(nonempty_tables)))  # noqa: S608 - as below
    with prepared_cursor() as cursor:
        cursor.execute(
            f"WITH {', '.join(inserts)}, inserted AS MATERIALIZED (SELECT {counts} AS rows) "  # noqa: S608 - names of tables and columns
            f"{then_select or 'SELECT rows FROM inserted'}",
            [text for rows in nonempty_tables for text in encode_rows(rows)] + [*parameters],
        )
    for rows in tables:
        for row in () if isinstance(rows, NewRows) else rows:
            mark_inserted(row)


@cache
def build_insert_sql(model: type[Model]) -> str:
    """Return an INSERT of rows, with the two parameters that `encode_rows` returns."""
    quote = connection.ops.quote_name
    columns = ", ".join(quote(str(field.column)) for field in model._meta.concrete_fields)
    table = quote(model._meta.db_table)
    return (
        f"INSERT INTO {table} ({columns}) SELECT {columns} FROM json_populate_recordset("  # noqa: S608 - names of tables and columns
        f"json_populate_record(NULL::{table}, %s::json), %s::json)"
    )


def encode_rows(rows: Sequence[Model] | NewRows) -> tuple[str, str]:
    """Return the columns with one value as a JSON object, and an array of rows with the others."""
    shared: list[str] = []
    shared_others: dict[str, Any] = {}  # of types that are encoded together
    names: list[str] = []
    others: list[Sequence[str]] = []
    for name, values in _collect_columns(rows).columns.items():
        if not has_one_value(values):
            names.append(name)
            others.append([_encode(value) for value in values])
        elif encode := _ENCODERS.get(type(values[0])):
            shared.append(f'"{name}":{encode(values[0])}')
        else:
            shared_others[name] = values[0]
    if shared_others:
        shared.append(_OTHER_TYPES.encode(shared_others)[1:-1])
    if not names:
        objects = ["{}"] * len(rows)
    else:
        template = ",".join(f'"{name}":%s' for name in names)
        objects = [f"{{{template % values}}}" for values in zip(*others, strict=True)]
    return f"{{{','.join(shared)}}}", f"[{','.join(objects)}]"


def _collect_columns(rows: Sequence[Model] | NewRows) -> NewRows:
    if isinstance(rows, NewRows):
        return rows
    fields = rows[0]._meta.concrete_fields
    values = map(attrgetter(*(field.attname for field in fields)), rows)
    names = [str(field.column) for field in fields]
    return NewRows(type(rows[0]), dict(zip(names, zip(*values, strict=True), strict=True)))


def mark_inserted(row: Model) -> None:
    """Let a later `save` update the row."""
    row._state.adding = False  # noqa: SLF001 - as `bulk_create` does
    row._state.db = connection.alias  # noqa: SLF001


def _encode(value: Any) -> str:
    encode = _ENCODERS.get(type(value))
    return encode(value) if encode else _OTHER_TYPES.encode(value)


def _encode_default(value: Any) -> str:
    """Return a value inside a list or an object, or of a subclass of a type below, as text."""
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"A {type(value).__name__} cannot be inserted as JSON.")


_OTHER_TYPES = json.JSONEncoder(default=_encode_default, ensure_ascii=False, allow_nan=False)
_ENCODERS: dict[type[Any], Callable[[Any], str]] = {
    str: encode_basestring,
    int: str,
    type(None): lambda _value: "null",
    UUID: lambda value: f'"{value}"',
    datetime: lambda value: f'"{value.isoformat()}"',
    bytes: lambda value: f'"\\\\x{value.hex()}"',
    EncodedJson: str.__str__,
}
