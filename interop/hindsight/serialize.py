"""Memories in the form of Hindsight."""

from collections.abc import Mapping
from typing import Any

EXPERIENCE = ("event", "procedure")
OBSERVATION = ("summary", "topic", "concept")
OWN_FIELDS = ("context", "document_id")  # metadata that the protocol has fields for
NO_USAGE = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}


def fact_type(kind: str) -> str:
    if kind in EXPERIENCE:
        return "experience"
    return "observation" if kind in OBSERVATION else "world"


def serialize_memory(memory: Mapping[str, Any]) -> dict[str, Any]:
    """Return a native memory or search result as a recalled memory."""
    metadata = memory["metadata"]
    output = {
        "id": str(memory["id"]),
        "text": memory["text"],
        "type": fact_type(memory["kind"]),
        "entities": memory.get("entities", []),
        "context": _format_text(metadata.get("context")),
        "occurred_start": memory["observed_at"],
        "occurred_end": None,
        "mentioned_at": memory["created_at"],
        "document_id": _format_text(metadata.get("document_id")),
        "metadata": {k: str(v) for k, v in metadata.items() if k not in OWN_FIELDS},
        "chunk_id": str(memory["id"]),
        "tags": memory["tags"],
        "source_fact_ids": None,
    }
    if "score" in memory:
        parts = memory["explain"]["parts"] if "explain" in memory else {}
        output["scores"] = {
            "final": memory["score"],
            "reranker": parts.get("rerank"),
            "semantic": parts.get("context") or parts.get("dense"),
            "keyword": parts.get("lexical"),
        }
    return output


def _format_text(value: Any) -> str | None:
    """Return a value as text: clients refuse a whole response with any other type."""
    return None if value is None else str(value)
