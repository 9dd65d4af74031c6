"""Memories as of an instant, from their versions. Inside `acting`.

A CTE with the name and columns of the table holds the past rows, so that every query can also run
on the past.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import EmptyResultSet
from django.db import connection, models

from kmapp.search.allowed_objects import AllowedObjects
from memory.models import EntryQuerySet, MemoryEntry, MemoryVersion

MAX_OLD_TEXTS = 500
HIDDEN_STATUSES = (MemoryEntry.Status.FORGOTTEN, MemoryEntry.Status.REJECTED)
_TABLE = MemoryEntry._meta.db_table
_VERSIONS = MemoryVersion._meta.db_table


def _get_empty_value(field: Any) -> Any:
    if field.null:
        return None
    if isinstance(field, ArrayField):
        return []
    if isinstance(field, models.JSONField):
        return field.get_default()
    return {"BooleanField": False, "PositiveIntegerField": 0}.get(field.get_internal_type(), "")


# States omit empty fields.
_EMPTY_STATE = json.dumps(
    {each.attname: _get_empty_value(each) for each in MemoryEntry._meta.concrete_fields}
)
_PAST_ROWS_SQL = f"""
WITH "{_TABLE}" AS MATERIALIZED (
  SELECT was.* FROM (
    SELECT DISTINCT ON (entry_id) state, commit_id FROM {_VERSIONS}
    WHERE account_id = %s AND created_at <= %s AND entry_id IN ({{present}})
    ORDER BY entry_id, version DESC
  ) v, LATERAL jsonb_populate_record(
    NULL::{_TABLE}, %s::jsonb || v.state || jsonb_build_object('commit_id', v.commit_id)) was
)
"""  # noqa: S608 - names of our tables
_OLD_TEXTS_SQL = f"""
SELECT e.id, v.state->>'content' FROM {_TABLE} e, LATERAL (
  SELECT state, version FROM {_VERSIONS}
  WHERE account_id = e.account_id AND entry_id = e.id AND created_at <= %s
  ORDER BY version DESC LIMIT 1
) v
WHERE e.account_id = %s AND e.id = ANY (%s) AND e.version > v.version
  AND e.content <> v.state->>'content' ORDER BY e.updated_at DESC LIMIT %s
"""  # noqa: S608 - as above


@dataclass(frozen=True, slots=True, kw_only=True)
class PastState:
    """The state of an account at one instant, limited to the rows of `present`."""

    account_id: UUID
    at: datetime
    present: EntryQuerySet

    def load_entries(self, rows: EntryQuerySet) -> list[MemoryEntry]:
        """Return the memories that a query would have matched at that instant."""
        try:
            sql, parameters = rows.query.sql_with_params()
        except EmptyResultSet:
            return []
        cte, cte_parameters = self._build_cte()
        return list(MemoryEntry.objects.raw(cte + sql, [*cte_parameters, *parameters]))

    def list_ids(self, rows: EntryQuerySet) -> list[UUID]:
        within = AllowedObjects.from_queryset(rows)
        cte, cte_parameters = self._build_cte()
        with connection.cursor() as cursor:
            cursor.execute(cte + within.sql, [*cte_parameters, *within.parameters])
            return [row[0] for row in cursor.fetchall()]

    def load_old_texts(self, ids: Sequence[UUID]) -> dict[UUID, str]:
        """Return the old texts of memories that changed since; no index contains them."""
        with connection.cursor() as cursor:
            cursor.execute(_OLD_TEXTS_SQL, [self.at, self.account_id, list(ids), MAX_OLD_TEXTS])
            return dict(cursor.fetchall())

    def _build_cte(self) -> tuple[str, list[Any]]:
        visible = AllowedObjects.from_queryset(self.present)
        parameters = [self.account_id, self.at, *visible.parameters, _EMPTY_STATE]
        return _PAST_ROWS_SQL.format(present=visible.sql), parameters


def exclude_hidden_entries(rows: EntryQuerySet) -> EntryQuerySet:
    """Return the rows that may be shown; forgotten and rejected ones stay hidden."""
    return rows.exclude(status__in=HIDDEN_STATUSES)
