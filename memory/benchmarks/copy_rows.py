"""Bulk inserts by COPY, as the owner.

PostgreSQL refuses COPY FROM to roles that row-level security applies to, which includes the owner.
Rows are therefore copied into a temporary table and inserted from there.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from django.db import connections
from django.db.models import Model
from django.db.models.expressions import DatabaseDefault
from numpy.typing import NDArray
from psycopg import Copy, sql

from kmapp.providers.embedding_model_lifecycle import OWNER

HALF_HEADER = struct.Struct(">HH")
VECTOR_COLUMNS = (
    *("id", "account_id", "collection", "object_id", "part", "model_id", "text_sha256"),
    *("state", "embedding", "error", "ready_at"),
)
VECTOR_TYPES = (
    *("uuid", "uuid", "varchar", "uuid", "int2", "int2", "varchar"),
    # The embedding is sent as the bytes of `encode_halfvec`: psycopg has no halfvec type.
    *("varchar", "bytea", "varchar", "timestamptz"),
)


def copy_models(rows: Sequence[Model]) -> None:
    """Insert these rows of one model; columns without a value have the default of the database."""
    fields = [
        field
        for field in rows[0]._meta.concrete_fields
        if not isinstance(getattr(rows[0], field.attname), DatabaseDefault)
    ]
    owner = connections[OWNER]
    values = (
        [field.get_db_prep_save(getattr(row, field.attname), owner) for field in fields]
        for row in rows
    )
    copy_rows(rows[0]._meta.db_table, [str(field.column) for field in fields], values)


def copy_rows(table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    with _copy(table, columns, "") as copy:
        for row in rows:
            copy.write_row(row)


def copy_vectors(rows: Iterable[Sequence[Any]]) -> None:
    """Insert vectors in binary format; as text, each takes two kilobytes and must be parsed."""
    with _copy("search_vector", VECTOR_COLUMNS, "(FORMAT BINARY)") as copy:
        copy.set_types(VECTOR_TYPES)
        for row in rows:
            copy.write_row(row)


def encode_halfvec(vectors: "NDArray[np.float32]") -> list[bytes]:
    """Encode vectors in the binary format of halfvec."""
    header = HALF_HEADER.pack(vectors.shape[1], 0)
    return [header + row.tobytes() for row in vectors.astype(">f2")]


@contextmanager
def _copy(table: str, columns: Sequence[str], options: str) -> Iterator[Copy]:
    names = {
        "table": sql.Identifier(table),
        "staging": sql.Identifier(f"staging_{table}"),
        "columns": sql.SQL(", ").join(map(sql.Identifier, columns)),
        "options": sql.SQL(options),
    }

    def format_sql(text: str) -> sql.Composed:
        return sql.SQL(text).format(**names)

    with connections[OWNER].cursor() as cursor:
        # Without the constraints of the table, whose other columns have defaults.
        empty = "SELECT {columns} FROM {table} LIMIT 0"
        cursor.execute(format_sql(f"CREATE TEMP TABLE {{staging}} ON COMMIT DROP AS {empty}"))
        with cursor.copy(format_sql("COPY {staging} ({columns}) FROM STDIN {options}")) as copy:
            yield copy
        cursor.execute(
            format_sql("INSERT INTO {table} ({columns}) SELECT {columns} FROM {staging}")
        )
