"""What one call retrieves: query, viewer, sources, deadline and variant. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from kmapp.search.variants import DEFAULT_VARIANT, Variant

MAX_QUERY_LENGTH = 4_000  # characters
QUERY_END = 600  # characters of the end of a long text, where the question usually is
REMOTE_SOURCES = ("memory", "knowledge")  # sources that another kmapp can serve


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """Connection to another kmapp and the sources that it serves."""

    base_url: str
    sealed_key: str = field(repr=False)
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalRequest:
    """Query, viewer, limits and deadline of one retrieval."""

    account_id: UUID
    query: str
    sources: tuple[str, ...] = ()
    user_id: str = ""
    agent_id: str = ""
    app_id: str = ""
    run_id: str = ""
    scope: str = ""
    limit: int = 10
    min_score: float = 0.0
    deadline_ms: int = 2_000
    usual_deadline_ms: int = 2_000  # of the account
    knowledge_sources: tuple[str, ...] = ()
    lorebooks: tuple[str, ...] = ()
    recent_messages: Sequence[str] = ()  # the last messages, for lore
    rules_context: Mapping[str, Any] = field(default_factory=dict)
    tools: tuple[str, ...] = ()
    variant: Variant = DEFAULT_VARIANT
    remote: Remote | None = None  # another kmapp, which is queried first
    count_access: bool = True  # whether results count as accessed

    @property
    def has_usual_deadline(self) -> bool:
        """Return whether a timeout says something about a source, and not about this call only."""
        return self.deadline_ms >= self.usual_deadline_ms

    def replay_settings(self) -> dict[str, Any]:
        """Return what a replay needs beyond the report and its inputs."""
        return {
            "sources": list(self.sources),
            "limit": self.limit,
            "scope": self.scope,
            "knowledge_sources": list(self.knowledge_sources),
        }


def shorten_query(text: str) -> str:
    """Return the text if it can be a query, or else its end followed by its beginning.

    The end comes first, because embedders read only the first few hundred words.
    """
    if len(text) <= MAX_QUERY_LENGTH:
        return text
    end = text[-QUERY_END:]
    return f"{end}\n{text[: MAX_QUERY_LENGTH - len(end) - 1]}"
