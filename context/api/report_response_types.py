"""What agents are shown of calls, field by field."""

from datetime import datetime
from typing import Any, NotRequired, TypedDict
from uuid import UUID


class AssembledSection(TypedDict):
    """A part of the prompt, as it stands in its message."""

    name: str
    text: str
    tokens: int
    stable: bool


class EstimatedTokens(TypedDict):
    """The parts add up to the total."""

    total: int
    system: int
    history: int
    tools_schema: int
    tool_results: int
    injections: int
    memory_knowledge: int


class ContextCost(TypedDict):
    """The account of a call. Every decision has `action`, and tokens before and after it.

    `variant_by` says who chose the variant: `asked` by header, `assigned` by the conversation,
    or the `default`.
    """

    context_window_tokens: int
    reserved_output_tokens: int
    estimated_tokens: EstimatedTokens
    prefix_tokens: int
    tail_tokens: int
    prefix_sha256: str
    decisions: list[dict[str, Any]]
    items: list[dict[str, Any]]
    citations: list[dict[str, Any]]
    tool_profile: str
    variant: str
    variant_by: str
    index_version: str
    algo_version: str
    model: str | None
    cache: dict[str, Any]
    timings_ms: dict[str, Any]
    policy: dict[str, Any]


class AssembledCall(TypedDict):
    """A call ready to be sent. With Anthropic, `system` goes beside the messages."""

    report_id: UUID
    provider: str
    system: str
    sections: list[AssembledSection]
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    context_cost: ContextCost


class Outcome(TypedDict):
    """How the call went, as its caller told it."""

    success: bool | None
    input_tokens: int | None
    output_tokens: int | None
    cached_tokens: int | None
    latency_ms: int | None
    told_at: datetime | None


class ReportBrief(TypedDict):
    """One call in a list."""

    id: UUID
    conversation_id: str | None
    thread_id: str | None
    user_id: str | None
    agent_id: str | None
    app_id: str | None
    model: str | None
    variant: str
    estimated_tokens: EstimatedTokens
    actions: list[str]
    cost: float | None
    outcome: Outcome
    created_at: datetime


class Report(ReportBrief):
    """One call, with its whole account, and as OpenTelemetry names it."""

    context_cost: ContextCost
    attributes: dict[str, Any]
    inputs_expire_at: NotRequired[datetime | None]


class ReportPage(TypedDict):
    """Calls, newest first; `next` is the `before` of the next page."""

    results: list[ReportBrief]
    next: UUID | None


class Change(TypedDict):
    """Tokens of a section in the recorded call and in the replay."""

    before: int
    after: int


class ActionsChange(TypedDict):
    """What was decided in each of the two."""

    before: list[str]
    after: list[str]


class CallDifference(TypedDict):
    """What another policy would have made of a call: tokens by section, and what came and went."""

    report_id: UUID
    fits_before: bool
    fits_after: bool
    tokens: dict[str, Change]
    dropped: Change
    actions: ActionsChange
    evidence_lost: list[str]
    evidence_gained: list[str]
    tools_lost: list[str]
    tools_gained: list[str]
    messages_lost: list[int]
    messages_gained: list[int]


class Replayed(CallDifference):
    """The same, with the other policy whole, and the variant that it was retrieved by."""

    policy: dict[str, Any]
    variant: str
