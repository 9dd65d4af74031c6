"""Memories in the shapes of mem0."""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from typing import Any

from django.utils.dateparse import parse_datetime

from interop.field_validation import field_error

EVENTS = {"ADD": "ADD", "UPDATE": "UPDATE", "DELETE": "DELETE", "FORGET": "DELETE"}


def memory_item(memory: Mapping[str, Any]) -> dict[str, Any]:
    """Return a native memory or search result as a memory of mem0."""
    return {
        "id": memory["id"],
        "memory": memory["text"],
        "user_id": memory["user_id"],
        "agent_id": memory["agent_id"],
        "app_id": memory["app_id"],
        "run_id": memory["run_id"],
        "session_id": memory["run_id"],
        "metadata": memory["metadata"] or None,
        "categories": memory["tags"],
        "structured_attributes": None,
        "immutable": False,
        "expiration_date": _date(memory["expires_at"]),
        "created_at": memory["created_at"],
        "updated_at": memory["updated_at"],
    }


def search_result(hit: Mapping[str, Any]) -> dict[str, Any]:
    parts = hit["explain"]["parts"] if "explain" in hit else None
    return {**memory_item(hit), "score": hit["score"], "score_breakdown": parts}


def history_item(memory: Mapping[str, Any], versions: list[Mapping[str, Any]]) -> list[Any]:
    """Return one item for each version; `versions` are the native ones, oldest first."""
    owner = {name: memory[name] for name in ("user_id", "agent_id", "app_id")}
    items, previous = [], None
    for version in versions:
        event = EVENTS.get(version["event"].upper(), "UPDATE")
        text = None if event == "DELETE" else version["text"]
        items.append(
            {
                "id": version["commit"]["id"] if version["commit"] else memory["id"],
                "memory_id": memory["id"],
                "input": [{"role": "user", "content": version["text"]}],
                "old_memory": previous,
                "new_memory": text,
                **owner,
                "session_id": memory["run_id"],
                "categories": version["state"].get("tags", []),
                "metadata": version["state"].get("slots") or None,
                "event": event,
                "created_at": version["created_at"],
                "updated_at": version["created_at"],
            }
        )
        previous = text or previous
    return items


def _date(value: Any) -> str | None:
    moment = parse_datetime(value) if isinstance(value, str) else value
    return moment.date().isoformat() if isinstance(moment, datetime) else None


def to_expiry(day: Any) -> datetime | None:
    """Return the end of a day such as 2030-12-31, in UTC. Raise Invalid for anything else."""
    if day is None:
        return None
    try:
        parsed = date.fromisoformat(day)
    except (TypeError, ValueError) as error:
        raise field_error("expiration_date", "must be a date such as 2030-12-31") from error
    return datetime.combine(parsed, time.max, UTC)


def to_moment(timestamp: Any) -> Any:
    """Return a Unix time in seconds as a time; leave every other value for the native check."""
    if isinstance(timestamp, bool) or not isinstance(timestamp, int | float):
        return timestamp
    try:
        return datetime.fromtimestamp(timestamp, UTC)
    except (ValueError, OverflowError, OSError):
        return str(timestamp)
