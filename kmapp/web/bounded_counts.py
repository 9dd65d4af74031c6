"""Figures of panels that are polled: the work for them does not grow with the tables."""

from collections.abc import Mapping
from typing import Any

from django.db.models import QuerySet

from kmapp.database.combined_counts import count_querysets

MAX_FIGURE = 10_000  # rows that are counted; the figure of more is shown as 9999+


def count_figures(querysets: Mapping[str, QuerySet[Any, Any]]) -> dict[str, int]:
    """Return the number of rows of each queryset, or MAX_FIGURE if there are more. One query."""
    return count_querysets(
        {name: rows.order_by().values("pk")[:MAX_FIGURE] for name, rows in querysets.items()}
    )


def is_exact(number: int) -> bool:
    """Return whether all rows were counted."""
    return number < MAX_FIGURE


def format_figure(number: int) -> str:
    return str(number) if is_exact(number) else f"{MAX_FIGURE - 1}+"
