"""Reading all pages of a native list."""

from collections.abc import Mapping
from typing import Any

from interop.protocol_view import ProtocolView

PAGE = 200  # memories; the most that a native list returns at once


def list_all(view: ProtocolView, body: Mapping[str, Any], limit: int) -> list[Mapping[str, Any]]:
    """Return the memories of a native list, newest first, up to a page more than `limit`."""
    memories: list[Mapping[str, Any]] = []
    cursor = None
    while len(memories) <= limit:
        answer = view.post_native("/v1/memory/list", {**body, "limit": PAGE, "cursor": cursor})
        memories.extend(answer["results"])
        cursor = answer["next_cursor"]
        if cursor is None:
            break
    return memories
