"""Response types of recall."""

from typing import Any, NotRequired
from uuid import UUID

from kmapp.search.variants import Versions
from memory.api.response_types import Hit


class RecallAnswer(Versions):
    """Recalled memories. The request chooses the fields of nodes; embeddings are left out."""

    tenant_id: UUID
    scope: str
    seeds: list[dict[str, Any]]
    subgraph: dict[str, Any]
    ranked: list[dict[str, Any]]
    context: dict[str, Any]
    decisions: list[dict[str, Any]]
    debug: NotRequired[dict[str, Any]]


class RecallTextAnswer(RecallAnswer):
    """Recalled memories, with the query and its embedding model."""

    query: dict[str, str]


class InjectAnswer(Versions):
    """A prompt block, and the memories in it."""

    text: str
    memories: list[Hit]
    query: str
    threshold: float
    has_relevant: bool
    tokens: int
    decisions: list[dict[str, Any]]
