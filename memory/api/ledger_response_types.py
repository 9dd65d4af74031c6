"""Response types of the ledger."""

from datetime import datetime
from typing import Any, TypedDict
from uuid import UUID

from kmapp.api.typed_dict_schemas import ParsedAnswer


class LedgerCommit(TypedDict):
    """A commit of the ledger."""

    id: UUID
    seq: int
    parent_hash: str
    commit_hash: str
    actor: str
    created_at: datetime
    input_digest: str
    diff: list[dict[str, str | None]]


class Version(TypedDict):
    """A version of a memory, with its commit."""

    version: int
    event: str
    actor: str
    reason: str
    created_at: datetime
    text: str | None
    status: str | None
    state: dict[str, Any]
    commit: LedgerCommit | None


class HistoryAnswer(ParsedAnswer):
    """Versions of a memory, oldest first; `next` is the `after` of the next page."""

    id: UUID
    versions: list[Version]
    next: int | None


class CommitsAnswer(ParsedAnswer):
    """Commits of the account, oldest first; `next` is the `after` of the next page."""

    commits: list[LedgerCommit]
    next: int | None


class SignedHead(TypedDict):
    """The last checkpoint."""

    seq: int
    commit_hash: str
    created_at: datetime


class VerifyAnswer(TypedDict):
    """Whether the chain is valid, and its problems."""

    ok: bool
    after: int
    commits: int
    rest: int
    head: str
    problems: list[str]
    checkpoint: SignedHead | None
