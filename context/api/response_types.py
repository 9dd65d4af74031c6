"""Response types of tool results."""

from datetime import datetime
from typing import Any, NotRequired, TypedDict
from uuid import UUID


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
    extractive: str | None  # why: no_chat_model, waiting, bad_answer, failed
    result_length: int
    sources: list[str]
    sha256: str
    created_at: datetime
    commit_id: UUID


class Processed(TypedDict):
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


class Loaded(TypedDict):
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


class ArchivesFound(TypedDict):
    """Tool results, best first."""

    results: list[ArchiveHit]
    decisions: list[dict[str, Any]]


class ArchivePage(TypedDict):
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


class PreparedAnswer(TypedDict):
    """Messages for the model, with the changes."""

    messages: list[dict[str, Any]]
    archived: list[Kept]
    loaded: list[LoadedWhy]
    tokens: Size
    decisions: list[dict[str, Any]]


class ToolAnswer(TypedDict):
    """A tool definition, and the paragraph for the system prompt."""

    tool: dict[str, Any]
    system: str
