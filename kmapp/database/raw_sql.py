"""Rows of SQL statements, as tuples or dataclasses."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections

from kmapp.database.psycopg_cursors import prepared_cursor

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")


def fetch_all(
    statement: str,
    parameters: Sequence[Any] | Mapping[str, Any] | None = None,
    using: str = DEFAULT_DB_ALIAS,
) -> list[Any]:
    """Return the rows of a statement, as tuples."""
    with connections[using].cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())


def fetch_prepared(statement: str, parameters: Sequence[Any]) -> list[Any]:
    """Return the rows of a statement that this connection prepares; see `prepared_cursor`."""
    with prepared_cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())


def fetch_as(shape: type[T], source: str, *values: Any) -> list[T]:
    """Return rows as dataclasses. `source` is what follows FROM; its columns are their fields."""
    names = [field.name for field in fields(shape)]
    rows = fetch_all(f"SELECT {', '.join(names)} FROM {source}", values)  # noqa: S608 - constants
    build: Callable[..., T] = shape
    return [build(**dict(zip(names, row, strict=True))) for row in rows]
