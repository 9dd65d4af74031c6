"""Items of a LangGraph store as memories.

An item is a memory of the agent `langgraph`. Its text is what a search finds; its metadata holds
the namespace, the key and the value.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from interop.field_validation import field_error
from interop.key_value_memory import get_created_at

AGENT = "langgraph"
MAX_LABELS = 20
MAX_LABEL_LENGTH = 200
MAX_KEY_LENGTH = 500
MAX_TEXT_LENGTH = 50_000  # characters of a memory
TEXT_FIELDS = ("text", "content", "memory", "data", "summary")


@dataclass(frozen=True, slots=True)
class ItemId:
    """Namespace and key of an item."""

    namespace: tuple[str, ...]
    key: str


def parse_namespace(value: Any, name: str = "namespace") -> tuple[str, ...]:
    """Return the labels of a namespace: texts that are not empty and contain no period."""
    labels = value if isinstance(value, list) else None
    if labels is None or len(labels) > MAX_LABELS:
        raise field_error(name, f"must be a list of at most {MAX_LABELS} labels")
    for label in labels:
        is_label = isinstance(label, str) and 0 < len(label) <= MAX_LABEL_LENGTH
        if not is_label or "." in label:
            raise field_error(name, "has a label that is empty, too long, or contains a period")
    return tuple(labels)


def parse_item_id(namespace: Any, key: Any) -> ItemId:
    labels = parse_namespace(namespace)
    if not labels:
        raise field_error("namespace", "must have at least one label")
    if not isinstance(key, str) or not 0 < len(key) <= MAX_KEY_LENGTH:
        raise field_error("key", f"must be a text of at most {MAX_KEY_LENGTH} characters")
    return ItemId(labels, key)


def item_metadata(item: ItemId, value: Mapping[str, Any], *, is_indexed: bool) -> dict[str, Any]:
    """Return the metadata; `prefixes` lists every namespace that the item belongs to."""
    labels = item.namespace
    prefixes = [".".join(labels[:length]) for length in range(1, len(labels) + 1)]
    return {
        "namespace": list(labels),
        "prefixes": prefixes,
        "key": item.key,
        "value": dict(value),
        "indexed": is_indexed,
    }


def searchable_text(item: ItemId, value: Mapping[str, Any], index: Any) -> str:
    """Return the text that a search finds: the indexed fields, a text field, or the whole value."""
    fields = [name for name in index if isinstance(name, str)] if isinstance(index, list) else []
    texts = [_text(value, name) for name in fields if name != "$"]
    texts = [text for text in texts if text]
    if not texts:
        texts = [value[name] for name in TEXT_FIELDS if isinstance(value.get(name), str)][:1]
    text = "\n".join(texts).strip() or json.dumps(value, ensure_ascii=False)
    return text[:MAX_TEXT_LENGTH] if text != "{}" else item.key


def _text(value: Mapping[str, Any], path: str) -> str:
    """Return the value of a field such as `profile.name` as text, or an empty text."""
    current: Any = value
    for part in path.split("."):
        current = current.get(part) if isinstance(current, Mapping) else None
    if current is None:
        return ""
    return current if isinstance(current, str) else json.dumps(current, ensure_ascii=False)


def is_item(memory: Mapping[str, Any]) -> bool:
    """Return whether a memory of the agent is an item: other clients can write as this agent."""
    metadata = memory["metadata"] or {}
    namespace = metadata.get("namespace")
    return (
        isinstance(namespace, list)
        and bool(namespace)
        and all(isinstance(label, str) for label in namespace)
        and isinstance(metadata.get("key"), str)
        and isinstance(metadata.get("value"), Mapping)
    )


def serialize_item(memory: Mapping[str, Any]) -> dict[str, Any]:
    """Return a native memory, or a search result with its score, as an item."""
    metadata = memory["metadata"]
    item = {
        "namespace": metadata["namespace"],
        "key": metadata["key"],
        "value": metadata["value"],
        "created_at": get_created_at(memory),
        "updated_at": memory["updated_at"],
    }
    if "score" in memory:
        item["score"] = memory["score"]
    return item


def native_filters(prefix: Sequence[str]) -> dict[str, Any]:
    """Return the native filter for the items below a namespace."""
    filters: dict[str, Any] = {"agent_id": AGENT}
    if prefix:
        filters["metadata"] = {"prefixes": {"eq": [".".join(prefix)]}}
    return filters
