"""Forgetting everything of an owner, which native clients do in two steps."""

from collections.abc import Mapping
from typing import Any

from interop.native_client import NativeError
from interop.protocol_view import ProtocolView

PATH = "/v1/memory/forget"
MAX_ATTEMPTS = 5


def forget_owned(view: ProtocolView, owner: Mapping[str, Any]) -> dict[str, Any]:
    """Count the memories of an owner, confirm the count, and return it with the first event.

    `owner` is the body of a native request: ids, filters, or both. They are counted again if
    another request changed them in between.
    """
    attempts = 0
    while True:
        counted, attempts = view.post_native(PATH, owner), attempts + 1
        if not counted["count"]:
            return {"count": 0, "event_id": None}
        try:
            done = view.post_native(PATH, {**owner, "confirm_token": counted["confirm_token"]})
        except NativeError as error:
            if attempts == MAX_ATTEMPTS or error.response.data["error"] != "count_changed":
                raise
        else:
            return {"count": done["count"], "event_id": next(iter(done["event_ids"]), None)}
