"""Rows of SQL statements, as tuples, dataclasses or objects of a model."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from django.db import DEFAULT_DB_ALIAS, connections
from django.db.models import Model

from kmapp.database.psycopg_cursors import prepared_cursor

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

T = TypeVar("T", bound="DataclassInstance")
M = TypeVar("M", bound=Model)


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


def list_columns(model: type[Model], table: str) -> str:
    """Return the columns of a model for SELECT, in the order that `build_object` expects."""
    return ", ".join(f"{table}.{field.column}" for field in model._meta.concrete_fields)


def build_object(model: type[M], values: Sequence[Any]) -> M:
    """Return an object from the values of all of its columns, as the database returned them.

    A raw queryset inspects every column again for each statement. The object belongs to the default
    database, also if a replica was read.
    """
    columns = model._meta.concrete_fields
    connection = connections[DEFAULT_DB_ALIAS]
    converted = [
        field.from_db_value(value, None, connection) if hasattr(field, "from_db_value") else value
        for field, value in zip(columns, values, strict=True)
    ]
    return model.from_db(DEFAULT_DB_ALIAS, [field.attname for field in columns], converted)


def build_row(model: type[M], values: Mapping[str, Any]) -> M:
    """Return a new object: `model(**values)`, in a third of its time for a table of many columns.

    `values` are by attribute name: `account_id`, not `account`.
    """
    defaults = _collect_defaults(model)
    if not values.keys() <= defaults.keys():
        raise TypeError(f"{model.__name__} has no {sorted(values.keys() - defaults.keys())}.")
    return model(
        *[
            values[name] if name in values else get_default()
            for name, get_default in defaults.items()
        ]
    )


@cache
def _collect_defaults(model: type[Model]) -> dict[str, Callable[[], Any]]:
    return {field.attname: field.get_default for field in model._meta.concrete_fields}
