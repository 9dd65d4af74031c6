"""Response types of knowledge."""

from datetime import datetime
from typing import Any, NotRequired, TypedDict
from uuid import UUID


class SourceAnswer(TypedDict):
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


class SourcesAnswer(TypedDict):
    """Sources, by name; `next` continues."""

    sources: list[SourceAnswer]
    next: str | None


class DocumentAnswer(TypedDict):
    """A document, and how far it has been read."""

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
    """What became of chunks: only those that were made are embedded."""

    kept: int
    made: int
    retired: int


class IngestAnswer(TypedDict):
    """What came of a delivery. The commit is null when nothing changed."""

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
    """Where in its source a text stands."""

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
    """Whose it is."""

    account_id: UUID
    scope: str | None


class KnowledgeCitation(TypedDict):
    """Where a text stands: `get` resolves it to exactly that text."""

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
    """The named parts of a score; they add up to it."""

    score: float
    parts: dict[str, float]


class SnippetAnswer(TypedDict):
    """A passage that was found."""

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


class KnowledgeSearchAnswer(TypedDict):
    """What was found, best first, by which versions, and what was decided on the way."""

    results: list[SnippetAnswer]
    variant: str
    index_version: str
    algo_version: str
    decisions: list[dict[str, Any]]


class Moved(TypedDict):
    """How the document has moved on since."""

    version: int
    sha: str | None
    removed_at: datetime | None
    still_there: bool


class QuotedAnswer(TypedDict):
    """The cited text, exactly as it was; `moved` says how the document differs today."""

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
    """What was erased, and the commit that says so."""

    id: UUID
    commit_id: UUID
