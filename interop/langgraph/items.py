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
from kmapp.text.terms import normalise

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


def item_metadata(item: ItemId, value: Mapping[str, Any], index: Any) -> dict[str, Any]:
    """Return the metadata; `prefixes` lists every namespace that the item belongs to.

    The key is under `name`: a random value after the word "key" would be redacted as a secret.
    """
    labels = item.namespace
    prefixes = [".".join(labels[:length]) for length in range(1, len(labels) + 1)]
    return {
        "namespace": list(labels),
        "prefixes": prefixes,
        "name": item.key,
        "value": dict(value),
        "text_field": None if isinstance(index, list) else _find_text_field(value),
        "indexed": index is not False,
    }


def searchable_text(item: ItemId, value: Mapping[str, Any], index: Any) -> str:
    """Return the text that a search finds: the indexed fields, a text field, or the whole value."""
    fields = [name for name in index if isinstance(name, str)] if isinstance(index, list) else []
    texts = [_text(value, name) for name in fields if name != "$"]
    texts = [text for text in texts if text]
    if not texts and (name := _find_text_field(value)):
        texts = [value[name]]
    text = "\n".join(texts).strip() or json.dumps(value, ensure_ascii=False)
    return text[:MAX_TEXT_LENGTH] if text != "{}" else item.key


def _find_text_field(value: Mapping[str, Any]) -> str | None:
    """Return the field that holds the text of a value, or None."""
    names = (name for name in TEXT_FIELDS if isinstance(value.get(name), str))
    name = next(names, None)
    return name if name and value[name].strip() else None


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
        and isinstance(_get_key(metadata), str)
        and isinstance(metadata.get("value"), Mapping)
    )


def _get_key(metadata: Mapping[str, Any]) -> Any:
    """Return the key of an item. Items of earlier releases have it under `key`."""
    return metadata["name"] if "name" in metadata else metadata.get("key")


def serialize_item(memory: Mapping[str, Any]) -> dict[str, Any]:
    """Return a native memory, or a search result with its score, as an item."""
    metadata = memory["metadata"]
    item = {
        "namespace": metadata["namespace"],
        "key": _get_key(metadata),
        "value": _correct_text(metadata["value"], metadata.get("text_field"), memory["text"]),
        "created_at": get_created_at(memory),
        "updated_at": memory["updated_at"],
    }
    if "score" in memory:
        item["score"] = memory["score"]
    return item


def _correct_text(value: Mapping[str, Any], name: Any, text: str) -> Mapping[str, Any]:
    """Return the value with the text of its memory, if a person has corrected that."""
    before = value.get(name) if isinstance(name, str) else None
    if not isinstance(before, str) or len(before) > MAX_TEXT_LENGTH:
        return value
    return value if normalise(before).strip() == text else {**value, name: text}


def native_filters(prefix: Sequence[str]) -> dict[str, Any]:
    """Return the native filter for the items below a namespace."""
    filters: dict[str, Any] = {"agent_id": AGENT}
    if prefix:
        filters["metadata"] = {"prefixes": {"eq": [".".join(prefix)]}}
    return filters
