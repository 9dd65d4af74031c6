"""Response types of memory, also used by the OpenAPI schema."""

from datetime import datetime
from typing import Any, Literal, NotRequired, TypedDict
from uuid import UUID

from kmapp.search.variants import Versions


class Citation(Versions):
    """Where a memory comes from."""

    node_id: UUID
    uri: str
    commit_id: UUID
    commit_uri: str
    raw_ref: str | None
    evidence_ref: str | None
    sources: list[Any]


class Memory(TypedDict):
    """A memory, whole. Never an embedding."""

    id: UUID
    client_id: str | None
    scope: str
    text: str
    title: str
    kind: str
    metadata: dict[str, Any]
    tags: list[str]
    entities: list[str]
    user_id: str | None
    agent_id: str | None
    app_id: str | None
    run_id: str | None
    visibility: str
    status: str
    pinned: bool
    tier: str
    importance: float
    confidence: float
    salience: float
    half_life_days: float | None
    sources: list[Any]
    raw_ref: str | None
    evidence_ref: str | None
    flags: list[str]
    observed_at: datetime
    valid_from: datetime | None
    valid_to: datetime | None
    expires_at: datetime | None
    created_at: datetime
    updated_at: datetime
    last_activated_at: datetime | None
    version: int
    commit_id: UUID
    uri: str


class StoreAnswer(Memory):
    """The memory, and what was decided: that it was known already, or what it reads much like."""

    decisions: list[dict[str, Any]]


class MemoryWithVector(Memory):
    """A memory, and how far its vector is."""

    embedding_status: str
    embedding_model: str
    embedding_ready_at: datetime | None


class Proposal(Memory):
    """A memory that waits for a person, and the one that it would supersede."""

    supersedes: UUID


class WrittenNode(TypedDict):
    """One memory of a batch, in the order of the request."""

    id: UUID
    uri: str
    client_id: str | None
    type: str
    status: str


class WrittenEdge(TypedDict):
    """One connection of a batch, in the order of the request."""

    id: UUID
    uri: str
    type: str
    src_id: UUID
    dst_id: UUID


class Backfill(TypedDict):
    """Vectors that are still to be made. Ask /v1/events/{id} how far each of them is."""

    enqueued: bool
    pending_nodes: int
    event_ids: list[UUID]


class WriteAnswer(TypedDict):
    """What a write made. The commit is null when nothing had to be written."""

    tenant_id: UUID
    scope: str
    commit_id: UUID | None
    commit_uri: str | None
    commit_hash: str | None
    nodes: list[WrittenNode]
    edges: list[WrittenEdge]
    embedding_backfill: NotRequired[Backfill]


class AddedMessage(TypedDict):
    """A message that is a memory, as it was said."""

    id: UUID
    event: str
    text: str
    role: str | None
    status: str


class AddAnswer(TypedDict):
    """What was done at once, and the event that tells about the rest."""

    event_id: UUID | None
    status: str
    state: str  # the same, as /v1/events/{id} calls it
    reason: str | None
    results: list[AddedMessage]


class Explanation(TypedDict):
    """The named parts of a score; they add up to it."""

    score: float
    parts: dict[str, float]


class Hit(TypedDict):
    """A memory that was found. Its vector is READY, PENDING or FAILED; COLD and NONE need none."""

    id: UUID
    text: str
    score: float
    kind: str
    title: str
    tags: list[str]
    metadata: dict[str, Any]
    user_id: str | None
    agent_id: str | None
    app_id: str | None
    run_id: str | None
    client_id: str | None
    observed_at: datetime
    expires_at: datetime | None
    created_at: datetime
    updated_at: datetime
    pinned: bool
    embedding_status: str
    citations: list[Citation]
    explain: NotRequired[Explanation]


class SearchAnswer(Versions):
    """What was found, best first, and what was decided on the way."""

    results: list[Hit]
    decisions: list[dict[str, Any]]


class ListAnswer(TypedDict):
    """A page of memories; the cursor of the next, or null."""

    results: list[Memory]
    next_cursor: str | None


class ForgettingCount(TypedDict):
    """What would be forgotten. Nothing has happened yet; without any there is no token."""

    forgotten: bool  # false
    count: int
    needs_review: int  # everyone is told these: only a person takes them away
    confirm_token: str | None
    expires_in_seconds: int


class Forgetting(TypedDict):
    """What was forgotten, or will be when all of these events have succeeded."""

    forgotten: bool  # false while workers do it
    count: int
    status: str
    state: str
    event_ids: list[UUID]


class Traces(TypedDict):
    """What goes with the memories."""

    versions: int
    edges: int
    vectors: int
    stored_answers: int
    inputs_and_reasons: int
    kept_elsewhere: int  # tool results, calls and decisions of people of whom no memory is left


class ErasureCount(TypedDict):
    """What would be erased. Nothing has happened yet."""

    erased: Literal[False]
    count: int
    goes: Traces
    confirm_token: str
    expires_in_seconds: int


class Erasure(TypedDict):
    """What was erased, and the commit that proves it."""

    erased: Literal[True]
    count: int
    commit_id: UUID
    commit_hash: str
    note: str


class Rating(TypedDict):
    """How a memory served, and what that made of it."""

    id: UUID
    memory_id: UUID
    outcome: str
    reason: str
    used_in: str | None
    salience: float
    version: int
    commit_id: UUID
