"""Forgetting everything of an owner, which native clients do in two steps."""

from collections.abc import Mapping
from typing import Any

from interop.protocol_view import ProtocolView

PATH = "/v1/memory/forget"


def forget_owned(view: ProtocolView, owner: Mapping[str, Any]) -> dict[str, Any]:
    """Count the memories of an owner, confirm the count, and return it with the first event.

    `owner` is the body of a native request: ids, filters, or both.
    """
    counted = view.post_native(PATH, owner)
    if not counted["count"]:
        return {"count": 0, "event_id": None}
    done = view.post_native(PATH, {**owner, "confirm_token": counted["confirm_token"]})
    return {"count": done["count"], "event_id": next(iter(done["event_ids"]), None)}
