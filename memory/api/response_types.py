"""Response types of memory, also used by the OpenAPI schema."""

from datetime import datetime
from typing import Any, Literal, NotRequired, TypedDict
from uuid import UUID

from kmapp.api.typed_dict_schemas import ParsedAnswer, VerifiedAnswer
from kmapp.search.variants import Versions


class Citation(Versions):
    """The origin of a memory."""

    node_id: UUID
    uri: str
    commit_id: UUID
    commit_uri: str
    raw_ref: str | None
    evidence_ref: str | None
    sources: list[Any]


class Memory(ParsedAnswer):
    """A memory with all fields, without its embedding."""

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
    """The stored memory; `decisions` lists duplicates and similar memories."""

    decisions: list[dict[str, Any]]


class MemoryWithVector(Memory):
    """A memory with the state of its embedding."""

    embedding_status: str
    embedding_model: str
    embedding_ready_at: datetime | None


class Proposal(Memory):
    """A proposed memory, and the one that it would supersede."""

    supersedes: UUID


class WrittenNode(TypedDict):
    """A memory of a batch, in the order of the request."""

    id: UUID
    uri: str
    client_id: str | None
    type: str
    status: str


class WrittenEdge(TypedDict):
    """An edge of a batch, in the order of the request."""

    id: UUID
    uri: str
    type: str
    src_id: UUID
    dst_id: UUID


class Backfill(TypedDict):
    """Pending embeddings; /v1/events/{id} reports the progress of each."""

    enqueued: bool
    pending_nodes: int
    event_ids: list[UUID]


class WriteAnswer(ParsedAnswer):
    """The result of a write. The commit is null if nothing changed."""

    tenant_id: UUID
    scope: str
    commit_id: UUID | None
    commit_uri: str | None
    commit_hash: str | None
    nodes: list[WrittenNode]
    edges: list[WrittenEdge]
    embedding_backfill: NotRequired[Backfill]


class AddedMessage(TypedDict):
    """A message that was stored as a memory."""

    id: UUID
    event: str
    text: str
    role: str | None
    status: str


class AddAnswer(ParsedAnswer):
    """The stored messages, and the event of the extraction."""

    event_id: UUID | None
    status: str
    state: str  # the same, as /v1/events/{id} calls it
    reason: str | None
    results: list[AddedMessage]


class Explanation(TypedDict):
    """The parts of a score, which add up to it."""

    score: float
    parts: dict[str, float]


class Hit(TypedDict):
    """A search result. Memories of the states COLD and NONE have no embedding."""

    id: UUID
    text: str
    score: float
    relevance: float  # probability that it is relevant to the query
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


class SearchAnswer(Versions, VerifiedAnswer):
    """Search results, best first, and decisions of the search."""

    results: list[Hit]
    decisions: list[dict[str, Any]]


class ListAnswer(VerifiedAnswer):
    """A page of memories; the cursor of the next page, or null."""

    results: list[Memory]
    next_cursor: str | None


class ForgettingCount(ParsedAnswer):
    """The number of selected memories; nothing is forgotten yet."""

    forgotten: bool  # false
    count: int
    needs_review: int  # account-wide memories, which only a person may forget
    confirm_token: str | None
    expires_in_seconds: int


class Forgetting(ParsedAnswer):
    """The result of forgetting; complete when all events have succeeded."""

    forgotten: bool  # false while workers do it
    count: int
    status: str
    state: str
    event_ids: list[UUID]


class Traces(TypedDict):
    """Related data that is erased with the memories."""

    versions: int
    edges: int
    vectors: int
    stored_answers: int
    inputs_and_reasons: int
    kept_elsewhere: int  # other records about people of whom no memory is left


class ErasureCount(ParsedAnswer):
    """The number of selected memories; nothing is erased yet."""

    erased: Literal[False]
    count: int
    goes: Traces
    confirm_token: str
    expires_in_seconds: int


class Erasure(ParsedAnswer):
    """The result of an erasure, and the commit that records it."""

    erased: Literal[True]
    count: int
    commit_id: UUID
    commit_hash: str
    note: str


class Rating(ParsedAnswer):
    """A rating, and its effect on the memory."""

    id: UUID
    memory_id: UUID
    outcome: str
    reason: str
    used_in: str | None
    salience: float
    version: int
    commit_id: UUID


class RecallAnswer(Versions, VerifiedAnswer):
    """Recalled memories. The request chooses the fields of nodes; embeddings are left out."""

    tenant_id: UUID
    scope: str
    seeds: list[dict[str, Any]]
    subgraph: dict[str, Any]
    ranked: list[dict[str, Any]]
    context: dict[str, Any]
    decisions: list[dict[str, Any]]
    debug: NotRequired[dict[str, Any]]
    rules: NotRequired[dict[str, Any]]  # as rules/evaluate returns them


class RecallTextAnswer(RecallAnswer):
    """Recalled memories, with the query and its embedding model."""

    query: dict[str, str]


class InjectAnswer(Versions, VerifiedAnswer):
    """A prompt block, and the memories in it."""

    text: str
    memories: list[Hit]
    query: str
    threshold: float
    has_relevant: bool
    confidence: float  # probability that any of the memories is relevant
    tokens: int
    decisions: list[dict[str, Any]]
