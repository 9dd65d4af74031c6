"""What goes from one stage of a call's assembly to the next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from context.assembly.budget import Draft
from context.assembly.calls import Material, Section
from context.assembly.messages import Message
from context.assembly.policies import Policy
from context.models import ContextSettings
from context.models.archive_input import NewResult
from context.models.archives import Within
from kmapp.accounts.actors import Actor
from kmapp.search.variants import Variant


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What an agent wants to send to its model, and what it knows of the call."""

    account_id: UUID
    actor: Actor
    messages: Sequence[Message]
    window: int
    reserve: int
    tools: Sequence[Mapping[str, Any]] = ()
    sections: Sequence[Section] = ()
    within: Within = field(default_factory=Within)
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
    variant: Variant | None = None  # None: the one that the conversation is assigned to


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What is there before anything is looked for."""

    settings: ContextSettings
    policy: Policy
    variant: Variant
    variant_by: str  # asked, assigned, default
    material: Material
    query: str
    decisions: Sequence[Mapping[str, Any]]
    bodies: Sequence[UUID]  # salted digests of the messages
    keepable: Mapping[str, NewResult]  # tool results that are kept once they are cleared


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled:
    """A call that fits, with its account."""

    collected: Collected
    draft: Draft
    report: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """Where the account of a call is kept, and as what."""

    report_id: UUID
    report: Mapping[str, Any]
