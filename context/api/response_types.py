"""Response types of tool results, calls and reports."""

from datetime import datetime
from typing import Any, NotRequired, TypedDict
from uuid import UUID

from context.assembly.prompt import RenderedSection
from kmapp.api.typed_dict_schemas import COMPONENT_NAMES, ParsedAnswer, VerifiedAnswer

COMPONENT_NAMES[RenderedSection] = "AssembledSection"


class Size(TypedDict):
    """Tokens before and after."""

    before: int
    after: int


class Archive(TypedDict):
    """An archived tool result without its text."""

    uuid: UUID
    tool_name: str
    tool_call_id: str | None
    conversation_id: str | None
    thread_id: str | None
    user_id: str | None
    agent_id: str | None
    query_summary: str
    result_summary: str
    summary_by: str  # the chat model, or "extractive"
    extractive: str | None  # reason: no_chat_model, waiting, bad_answer, failed
    result_length: int
    sources: list[str]
    sha256: str
    created_at: datetime
    commit_id: UUID


class Processed(ParsedAnswer):
    """The content for the conversation: the result unchanged, or its placeholder."""

    archived: bool
    content: str
    tokens: Size
    archive: Archive | None


class ArchivePassage(TypedDict):
    """A passage of a tool result, with its position in characters."""

    start: int
    end: int
    text: str
    score: NotRequired[float]


class Loaded(ParsedAnswer):
    """A tool result: all of it, a range, or the requested passages."""

    archive: Archive
    tool_input: Any
    content: str
    part: str
    start: int
    end: int
    tokens: int
    passages: list[ArchivePassage]
    decisions: list[dict[str, Any]]


class ArchiveHit(Archive):
    """A matching tool result with its best passage."""

    score: float
    passage: ArchivePassage


class ArchivesFound(ParsedAnswer):
    """Tool results, best first."""

    results: list[ArchiveHit]
    decisions: list[dict[str, Any]]


class ArchivePage(ParsedAnswer):
    """Tool results, newest first; `next` is the `before` of the next page."""

    results: list[Archive]
    next: UUID | None


class Kept(TypedDict):
    """A result that a placeholder replaces."""

    uuid: UUID
    tool_name: str
    fresh: bool


class LoadedWhy(TypedDict):
    """A loaded result with the reason; `part` is whole, passages or missing."""

    uuid: UUID
    part: str
    tokens: int
    why: dict[str, Any]


class PreparedAnswer(ParsedAnswer):
    """Messages for the model, with the changes."""

    messages: list[dict[str, Any]]
    archived: list[Kept]
    loaded: list[LoadedWhy]
    tokens: Size
    decisions: list[dict[str, Any]]


class ToolAnswer(ParsedAnswer):
    """A tool definition, and the paragraph for the system prompt."""

    tool: dict[str, Any]
    system: str


class EstimatedTokens(TypedDict):
    """Estimated tokens by section, which add up to the total."""

    total: int
    system: int
    history: int
    tools_schema: int
    tool_results: int
    injections: int
    memory_knowledge: int


class ContextCost(TypedDict):
    """The report of a call. Every decision has `action`, and tokens before and after it.

    `variant_by` is the origin of the variant: `asked` by header, `assigned` by the conversation, or
    the `default`.
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


class AssembledCall(VerifiedAnswer):
    """A call to send. For Anthropic, `system` is a parameter of its own."""

    report_id: UUID
    provider: str
    system: str
    sections: list[RenderedSection]
    messages: list[dict[str, Any]]
    tools: list[dict[str, Any]]
    context_cost: ContextCost


class Outcome(TypedDict):
    """The outcome of the call, as reported."""

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


class Report(ReportBrief, ParsedAnswer):
    """One call with its full report and OpenTelemetry attributes."""

    context_cost: ContextCost
    attributes: dict[str, Any]
    inputs_expire_at: NotRequired[datetime | None]


class ReportPage(ParsedAnswer):
    """Calls, newest first; `next` is the `before` of the next page."""

    results: list[ReportBrief]
    next: UUID | None


class Change(TypedDict):
    """Tokens of a section in the recorded call and in the replay."""

    before: int
    after: int


class ActionsChange(TypedDict):
    """Decisions of the recorded call and of the replay."""

    before: list[str]
    after: list[str]


class CallDifference(TypedDict):
    """Differences under another policy: tokens by section, lost and gained content."""

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


class Replayed(CallDifference, ParsedAnswer):
    """The differences with the full policy and the variant."""

    policy: dict[str, Any]
    variant: str
