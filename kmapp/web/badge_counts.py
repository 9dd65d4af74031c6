"""Counts of badges in the navigation and the head of the page, loaded with one query."""

from collections.abc import Callable
from typing import Any

from django.db.models import QuerySet

from kmapp.accounts.acting import current_account_id
from kmapp.database.combined_counts import count_querysets
from kmapp.web.http import WebRequest

_CEILING = 100  # rows that are counted; the count of more is shown as 99+
Rows = Callable[[WebRequest], QuerySet[Any]]
_rows: dict[str, Rows] = {}


def count_badge(url_name: str) -> Callable[[Rows], Rows]:
    """Register the rows that the badge of a page counts."""

    def register(rows: Rows) -> Rows:
        _rows[url_name] = rows
        return rows

    return register


def load_counts(request: WebRequest) -> dict[str, str]:
    """Return the badges by URL name; none on error pages, which act for no account."""
    if current_account_id() is None:
        return {}
    counts: dict[str, int] = dict(getattr(request, "counted", {}))
    counts |= count_querysets(
        {
            name: rows(request).order_by().values("pk")[:_CEILING]
            for name, rows in _rows.items()
            if name not in counts
        }
    )
    return {name: format_count(number) for name, number in counts.items()}


def format_count(number: int) -> str:
    """Format a badge's count; empty for none."""
    return f"{_CEILING - 1}+" if number >= _CEILING else str(number or "")
