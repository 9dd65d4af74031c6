"""Input of writes: what an entry point passes to the actions."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from operator import attrgetter
from typing import Any, Self
from uuid import UUID, uuid5

from kmapp.accounts.pii_redaction import redact_value
from kmapp.api.batch_node_registry import ForeignNode
from kmapp.database.ids import uuid7
from kmapp.database.keyed_digests import keyed_digest, matches_digest
from kmapp.ledger.canonical import encode_canonical, encode_canonical_records
from memory.models.entries import MemoryEntry

REDACTED_FIELDS = ("title", "raw_ref", "evidence_ref", "tags", "entities", "sources")
PURPOSE = "memory.entry"  # of digests of input
MAX_TAGS = 50  # of a memory that an agent or a person writes
# Characters of a text in these columns, or of each text of a list.
MAX_LENGTHS: Mapping[str, int] = {"title": 500, "tags": 100, "entities": 200}
# Fields of `NewEntry` that a memory has under the same name.
SHARED_FIELDS = (
    *("scope", "user_id", "agent_id", "app_id", "run_id", "kind", "title", "tags", "entities"),
    *("sources", "raw_ref", "evidence_ref", "importance", "confidence", "salience"),
    *("half_life_days", "tier", "valid_from", "valid_to", "expires_at"),
)


def redact_field(name: str, value: Any, kinds: Collection[str]) -> Any:
    """Return the value of a field as it is stored: redacted, and cut to the length of its column.

    A text may become longer when its personal data is replaced or its characters are composed.
    """
    stored, limit = redact_value(value, kinds), MAX_LENGTHS.get(name)
    if limit is None:
        return stored
    return stored[:limit] if isinstance(stored, str) else [text[:limit] for text in stored]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEntry:
    """One memory to write. Empty strings and None mean omitted fields."""

    text: str
    kind: str = "fact"
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    tags: Sequence[str] = field(default_factory=list)
    entities: Sequence[str] = field(default_factory=list)
    sources: Sequence[Any] = field(default_factory=list)
    raw_ref: str = ""
    evidence_ref: str = ""
    id: UUID | None = None
    client_id: str = ""
    scope: str = ""
    user_id: str = ""
    agent_id: str = ""
    app_id: str = ""
    run_id: str = ""
    visibility: str = ""
    importance: float = 0.5
    confidence: float = 1.0
    salience: float = 0.5
    half_life_days: float | None = None
    tier: str = "hot"
    observed_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    expires_at: datetime | None = None

    def redacted(self, kinds: Sequence[str]) -> Self:
        """Return a copy with normalized texts, redacted by the policy of the account."""
        changes: dict[str, Any] = {}
        for name in ("text", "metadata", *REDACTED_FIELDS):
            value = getattr(self, name)
            # A tuple becomes a list, also an empty one: rows have lists.
            has_more = value or isinstance(value, tuple)
            if has_more and (stored := redact_field(name, value, kinds)) != value:
                changes[name] = stored
        return replace(self, **changes) if changes else self

    def resolve_id(self, account_id: UUID) -> UUID:
        """Return the id; a client id always determines the same one."""
        if self.client_id:
            return derive_entry_id(account_id, self.scope, self.client_id)
        return self.id or uuid7()

    def resolve_visibility(self) -> str:
        return self.visibility or infer_visibility(self)

    def sha256(self) -> str:
        """Return a digest of all fields: equal client ids and digests mean the same write.

        It is computed before redaction, so that it holds when the account's policy changes, and
        with a secret, so that redacted text cannot be guessed from it.
        """
        return keyed_digest(PURPOSE, self._canonical())

    def matches_digest(self, sha256: str) -> bool:
        return matches_digest(sha256, PURPOSE, self._canonical())

    def _canonical(self) -> bytes:
        return encode_canonical({each.name: getattr(self, each.name) for each in fields(self)})


def compute_digests(drafts: Sequence[NewEntry]) -> list[str]:
    """Return `sha256()` of each draft. What all of them have in common is encoded once."""
    names = [each.name for each in fields(NewEntry)]
    columns = zip(*map(attrgetter(*names), drafts), strict=True)
    records = encode_canonical_records(dict(zip(names, columns, strict=True))) if drafts else []
    return [keyed_digest(PURPOSE, record) for record in records]


def derive_entry_id(account_id: UUID, scope: str, client_id: str) -> UUID:
    return uuid5(account_id, f"{scope}\x1f{client_id}")


def infer_visibility(draft: NewEntry | MemoryEntry) -> str:
    """Return the default visibility: the user's or agent's, else the run's, else the account's."""
    if draft.user_id or draft.agent_id:
        return "user"
    return "conversation" if draft.run_id else "account"


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeEnd:
    """One end of an edge: an entry's id, or the client id it has or gets in this batch."""

    id: UUID | None = None
    client_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewEdge:
    type: str
    src: EdgeEnd
    dst: EdgeEnd
    id: UUID | None = None
    weight: float = 0.5
    confidence: float = 1.0
    decay_rate: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """One write: entries and edges of one commit."""

    entries: Sequence[NewEntry]
    edges: Sequence[NewEdge] = ()
    hosted_nodes: Sequence[ForeignNode] = ()  # nodes of other apps
    scope: str = ""
    input: Any = None
    reason: str = ""
    status: str = ""  # of new entries; by default the account's policy decides
    dedupe: bool = False  # skip entries with the text of an existing one
    embed: bool = True
    reembed: bool = False
