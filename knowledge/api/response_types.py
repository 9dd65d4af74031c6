"""Response types of knowledge."""

from datetime import datetime
from typing import Any, NotRequired, TypedDict
from uuid import UUID

from kmapp.api.typed_dict_schemas import ParsedAnswer, VerifiedAnswer


class SourceAnswer(ParsedAnswer):
    """A source of documents."""

    id: UUID
    name: str
    kind: str
    trust: str
    scope: str | None
    ref: str | None
    revision: str | None
    index_versions: list[str]
    documents: int
    waiting: int
    failed: int
    refreshed_at: datetime | None
    created_at: datetime
    updated_at: datetime


class SourcesAnswer(ParsedAnswer):
    """A page of sources by name; `next` is the `after` of the next page."""

    sources: list[SourceAnswer]
    next: str | None


class DocumentAnswer(TypedDict):
    """A document and its processing state."""

    id: UUID
    source_id: UUID
    ref: str
    title: str
    mime: str
    url: str | None
    sha256: str
    size: int
    version: int
    revision: str | None
    state: str
    error: str | None
    observed_at: datetime
    removed_at: datetime | None
    updated_at: datetime
    commit_id: UUID


class ChunkCount(TypedDict):
    """Numbers of unchanged, new and deleted chunks. Only new chunks are embedded."""

    kept: int
    made: int
    retired: int


class IngestAnswer(ParsedAnswer):
    """The result of an ingestion. `commit_id` is null if nothing changed."""

    source: SourceAnswer
    documents: list[DocumentAnswer]
    added: list[str]
    changed: list[str]
    unchanged: list[str]
    removed: list[str]
    chunks: ChunkCount
    event_ids: list[UUID]
    commit_id: UUID | None


class Locator(TypedDict):
    """The position of a text in its source."""

    source: str
    source_id: UUID
    path: str
    url: str | None
    sha: str
    version: int
    revision: str | None
    start: int
    end: int
    line_start: int | None
    line_end: int | None
    page: int | None
    chunk_index: int | None
    chunk_id: UUID | None
    headings: list[str]


class CitationScope(TypedDict):
    """The account and the scope of a citation."""

    account_id: UUID
    scope: str | None


class KnowledgeCitation(TypedDict):
    """A reference to a text. POST it to /v1/knowledge/get to read exactly that text."""

    kind: str
    ref: UUID
    title: str
    uri: str
    locator: Locator
    scope: CitationScope
    observed_at: datetime
    trust: str
    variant: str
    index_version: str
    algo_version: str


class SnippetExplanation(TypedDict):
    """A score and its parts, which add up to it."""

    score: float
    parts: dict[str, float]


class SnippetAnswer(TypedDict):
    """A matching passage with its citation."""

    id: UUID
    text: str
    score: float
    title: str
    headings: list[str]
    source: str
    kind: str
    trust: str
    mime: str
    tags: list[str]
    flags: list[str]
    embedding_status: str
    citations: list[KnowledgeCitation]
    explain: NotRequired[SnippetExplanation]


class KnowledgeSearchAnswer(VerifiedAnswer):
    """Passages, best first, with the index and algorithm versions and the search decisions."""

    results: list[SnippetAnswer]
    variant: str
    index_version: str
    algo_version: str
    decisions: list[dict[str, Any]]


class Moved(TypedDict):
    """The current version of a document that changed after it was cited."""

    version: int
    sha: str | None
    removed_at: datetime | None
    still_there: bool


class QuotedAnswer(ParsedAnswer):
    """The cited text, unchanged. `moved` describes the current document if it differs."""

    text: str
    document: DocumentAnswer
    source: str
    trust: str
    sha: str
    version: int
    revision: str | None
    start: int
    end: int
    read_at: datetime
    current: bool
    moved: Moved | None


class ErasedAnswer(TypedDict):
    """The ID of the erased object and the commit of the erasure."""

    id: UUID
    commit_id: UUID


class LoreSilent(TypedDict):
    """An entry with matching keys that did not fire, and the reason."""

    id: UUID
    name: str
    reason: str


class LoreFired(LoreSilent):
    """An entry that fired, the reason, and why it was trimmed, if it was."""

    lorebook: str
    match: str | None
    by: UUID | None
    round: int
    tokens: int
    trimmed: str | None


class LoreCitation(TypedDict):
    """The lorebook entry of a text."""

    kind: str
    ref: UUID
    title: str
    commit_id: UUID


class LoreSnippet(TypedDict):
    """A text for the prompt."""

    text: str
    score: float
    tags: list[str]
    trust: str
    citations: list[LoreCitation]


class LoreReport(TypedDict):
    """The entries that fired or were held back, and their tokens within the budget."""

    fired: list[LoreFired]
    silent: list[LoreSilent]
    tokens: int
    budget: int


class LoreAnswer(VerifiedAnswer):
    """Texts in prompt order, the report, and the `state` for the next request."""

    results: list[LoreSnippet]
    build_report: LoreReport
    state: dict[str, int]
