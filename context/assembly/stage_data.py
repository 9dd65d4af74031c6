"""Data passed between the stages of call assembly."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from context.assembly.assembly_policy import AssemblyPolicy
from context.assembly.budget_enforcement import Draft
from context.assembly.messages import Message, message_text
from context.assembly.prompt_inputs import CallInput, Section
from context.assembly.retrieval_request import RetrievalRequest
from context.assembly.tool_profiles import tool_name
from context.models import ContextSettings
from context.models.archives import ArchiveScope, NewResult
from kmapp.accounts.actors import Actor
from kmapp.search.variants import Variant

RECENT_MESSAGES = 20  # messages that lore scans


@dataclass(frozen=True, slots=True, kw_only=True)
class AssemblyRequest:
    account_id: UUID
    actor: Actor
    messages: Sequence[Message]
    window: int
    reserve: int
    tools: Sequence[Mapping[str, Any]] = ()
    sections: Sequence[Section] = ()
    within: ArchiveScope = field(default_factory=ArchiveScope)
    agent_id: str = ""
    app_id: str = ""
    scope: str = ""
    model: str = ""
    query: str = ""
    language: str = ""
    provider: str = ""
    profile: str = "full"
    groups: Mapping[str, str] = field(default_factory=dict)
    required_tools: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    refused_sources: tuple[str, ...] = ()  # the key may not read them
    may_flush: bool = False  # whether the key may write memories
    limit: int = 10
    knowledge_sources: tuple[str, ...] = ()
    lorebooks: tuple[str, ...] = ()
    rules_context: Mapping[str, Any] = field(default_factory=dict)
    policy: Mapping[str, Any] = field(default_factory=dict)
    variant: Variant | None = None  # None: the conversation's assigned variant


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    settings: ContextSettings
    policy: AssemblyPolicy
    variant: Variant
    variant_by: str  # asked, assigned, default
    call_input: CallInput
    query: str
    decisions: Sequence[Mapping[str, Any]]
    bodies: Sequence[UUID]  # salted digests of the messages
    has_older: bool  # whether the archives of older tool results and a summary were looked up
    archivable: Mapping[str, NewResult]  # tool results to archive when they are cleared
    summary_id: UUID | None = None  # of the stored summary in `call_input`


def build_retrieval_request(request: AssemblyRequest, collected: Collected) -> RetrievalRequest:
    messages = collected.call_input.messages[-RECENT_MESSAGES:]
    shared = ("account_id", "sources", "agent_id", "app_id", "scope", "limit")
    lookup = ("knowledge_sources", "lorebooks", "rules_context")
    return RetrievalRequest(
        **{name: getattr(request, name) for name in (*shared, *lookup)},
        query=collected.query,
        user_id=request.within.user_id,
        run_id=request.within.conversation_id,
        min_score=collected.policy.min_score,
        deadline_ms=collected.policy.retrieval_ms,
        usual_deadline_ms=collected.settings.assembly_policy().retrieval_ms,
        recent_messages=[message_text(message) for message in messages],
        tools=tuple(dict.fromkeys(tool_name(tool) for tool in request.tools)),
        variant=collected.variant,
        remote=collected.settings.remote(),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled:
    """A call that fits its budget, with its report."""

    collected: Collected
    draft: Draft
    report: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """An assembled call with its stored report."""

    assembled: Assembled
    report_id: UUID
    report: Mapping[str, Any]
