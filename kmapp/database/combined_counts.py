"""Counts of several querysets by one statement."""

from collections.abc import Mapping
from typing import Any

from django.core.exceptions import EmptyResultSet
from django.db.models import QuerySet

from kmapp.database.raw_sql import fetch_all


def count_querysets(querysets: Mapping[str, QuerySet[Any, Any]]) -> dict[str, int]:
    """Return the number of rows of each queryset. A slice limits what is counted. One query."""
    statements: list[str] = []
    params: list[Any] = []
    for rows in querysets.values():
        try:
            sql, values = rows.query.sql_with_params()
        except EmptyResultSet:  # a condition that no row can meet
            sql, values = "SELECT WHERE false", ()
        statements.append(f"(SELECT count(*) FROM ({sql}) AS counted)")  # noqa: S608 -- of the ORM
        params += values
    [counts] = fetch_all(f"SELECT {', '.join(statements)}", params)
    return dict(zip(querysets, counts, strict=True))
