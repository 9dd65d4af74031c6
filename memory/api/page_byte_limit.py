"""Limit of the size of a page: a memory may have megabytes of metadata."""

import json
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

Row = TypeVar("Row")
MAX_PAGE_BYTES = 8 * 1024 * 1024  # of the texts and metadata of a page


def fit_page(rows: Sequence[Row], get_content: Callable[[Row], Any]) -> list[Row]:
    """Return the first rows whose contents fit a page together, at least one of them."""
    page: list[Row] = []
    size = 0
    for row in rows:
        size += len(json.dumps(get_content(row)))
        if page and size > MAX_PAGE_BYTES:
            break
        page.append(row)
    return page
