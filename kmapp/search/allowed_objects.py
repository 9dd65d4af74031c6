"""What a search covers: a collection, and the objects of it that may be returned."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self
from uuid import UUID

from django.core.exceptions import EmptyResultSet
from django.db import connection
from django.db.models import QuerySet

from kmapp.database.ids import IdText
from kmapp.search.id_array_lookup import IdArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Collection:
    account_id: UUID
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedObjects:
    """The objects that a search may return, as a subquery."""

    sql: str
    parameters: Sequence[Any]
    table: str = ""  # of which `sql` checks each row by itself, if it does
    is_scanned: bool = False  # scan them without the index
    as_list: "AllowedObjects | None" = None  # the same, if another form lists them faster
    reader_groups: tuple[str, ...] | None = None  # groups that contain all of them, if known

    @classmethod
    def from_queryset(cls, rows: "QuerySet[Any]") -> Self:
        try:
            sql, parameters = rows.order_by().values("pk").query.sql_with_params()
        except EmptyResultSet:  # a condition is never true
            return cls(sql="SELECT NULL::uuid WHERE false", parameters=())
        table = connection.ops.quote_name(rows.model._meta.db_table)
        return cls(sql=sql, parameters=parameters, table=table)

    @classmethod
    def from_parts(cls, parts: Iterable[Self]) -> Self:
        """Join disjoint parts. Each can use its own index, unlike a condition with OR."""
        parts = list(parts)
        return cls(
            sql=" UNION ALL ".join(each.sql for each in parts),
            parameters=[parameter for each in parts for parameter in each.parameters],
        )

    @classmethod
    def from_ids(cls, ids: Iterable[UUID | IdText]) -> Self:
        return cls(sql="SELECT unnest(%s::uuid[])", parameters=[IdArray(ids).array])

    def replace_parameters(self, values: Mapping[Any, Any]) -> Self:
        """Return the same condition with these values in the place of equal parameters."""
        return replace(
            self,
            parameters=[values.get(each, each) for each in self.parameters],
            as_list=self.as_list and self.as_list.replace_parameters(values),
        )

    def build_condition(self, id_sql: str) -> str:
        """Return the SQL condition that these objects include the one with this id.

        A viewer of reader groups has too many to list them, so the object's row is read by its id,
        whatever the planner expects; see `kmapp.database.psycopg_cursors`.
        """
        if not self._checks_rows:
            return f"{id_sql} IN ({self.sql})"
        row = f"SELECT * FROM {self.table} WHERE id = {id_sql} OFFSET 0"  # noqa: S608 - names
        return self._build_row_condition(row)

    def build_condition_of_row(self, alias: str) -> str:
        """Return the SQL condition that these objects include the one of a row.

        The statement has read all columns of the row, so it is not read again.
        """
        if not self._checks_rows:
            return f"{alias}.id IN ({self.sql})"
        return self._build_row_condition(f"SELECT {alias}.*")

    @property
    def _checks_rows(self) -> bool:
        return self.reader_groups is not None and bool(self.table)

    def _build_row_condition(self, row: str) -> str:
        """Return the condition on this row, which is the whole table to `sql`."""
        return f"EXISTS (WITH {self.table} AS ({row}) {self.sql})"
