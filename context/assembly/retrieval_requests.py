"""What a call wants to have found: what for, for whom, where, and for how long. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from kmapp.search.variants import DEFAULT, Variant

REMOTE_SOURCES = ("memory", "knowledge")  # that another kmapp can answer for


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """Another kmapp: where it is, what opens it, and what it answers for."""

    base_url: str
    sealed_key: str = field(repr=False)
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to look for, for whom, where, and for how long."""

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
    knowledge_sources: tuple[str, ...] = ()
    lorebooks: tuple[str, ...] = ()
    said: Sequence[str] = ()  # the last messages, for lore
    rules_context: Mapping[str, Any] = field(default_factory=dict)
    tools: tuple[str, ...] = ()
    variant: Variant = DEFAULT
    remote: Remote | None = None  # another kmapp, which is asked first
    counted: bool = True  # whether what is found counts as used

    def kept(self) -> dict[str, Any]:
        """What a replay must know of it beside what a report and its inputs say anyway."""
        return {
            "sources": list(self.sources),
            "limit": self.limit,
            "scope": self.scope,
            "knowledge_sources": list(self.knowledge_sources),
        }
