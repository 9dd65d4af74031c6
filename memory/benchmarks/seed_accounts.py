"""Synthetic accounts of given sizes, consistent with the ledger."""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from os import urandom
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connections, transaction
from django.db.models import Model
from django.utils import timezone

from kmapp.accounts.actions import create_account
from kmapp.accounts.actors import SYSTEM
from kmapp.accounts.models import Account
from kmapp.database.ids import uuid7
from kmapp.ledger.actions import Recording
from kmapp.ledger.canonical import SALT_BYTES, digest, encode_canonical
from kmapp.ledger.chain import EMPTY_CHAIN_HEAD, Head, compute_commit_hash
from kmapp.ledger.models import Commit, Note, Seal
from kmapp.management.account_lookup import list_all_accounts
from kmapp.outbox.models import Delivery, OutboxEvent
from kmapp.providers.active_models import active_model
from kmapp.providers.embedding_model_lifecycle import OWNER
from kmapp.providers.models import EmbeddingModel
from kmapp.search.nearest_indexes import create_indexes, drop_indexes
from kmapp.search.posting_packing import pack_recent
from kmapp.search.vector_code_packing import pack_codes
from kmapp.search.word_index import encode_document
from memory.actions.derived_edges import NEXT_WEIGHT, build_derived_edge
from memory.actions.follow_up_jobs import EMBED
from memory.actions.record_versions import build_version
from memory.benchmarks.copy_rows import copy_models, copy_rows, copy_vectors, encode_halfvec
from memory.benchmarks.synthetic_entries import Cloud, Population
from memory.models import MemoryEdge, MemoryEntry
from memory.models.entries import COLLECTION, CONTEXT_COLLECTION
from memory.retrieval.indexed_text import build_indexed_text

PREFIX = "perf-"
SHARES = (90.0, 1.0, 0.1)  # percent; one more account has the rest
BLOCK = 500  # entries of one commit
BLOCKS_AT_ONCE = 10  # in one transaction
ENTRIES_PER_USER = 200
REASON = "synthetic, for measuring"
DOCUMENT_COLUMNS = ("account_id", "collection", "document", "length", "terms")
MANY = 5_000  # entries from which rebuilding the index is faster than adding to it
TABLES = (
    *("ledger_commit", "ledger_seal", "ledger_note", "memory_memoryentry", "memory_memoryversion"),
    *("memory_memoryedge", "search_indexeddocument", "search_packedpostings", "search_vector"),
    *("search_packedreadergroup", "search_packedcodes"),
    *("outbox_outboxevent", "outbox_delivery"),
)


def slug_of(percent: float | None) -> str:
    return PREFIX + ("rest" if percent is None else f"{percent:g}".replace(".", "-"))


ReportProgress = Callable[[int], None]
ReportLine = Callable[[str], None]


def seed(
    number: int,
    shares: Sequence[float],
    *,
    report_progress: ReportProgress,
    report_line: ReportLine,
) -> None:
    """Write `number` entries, distributed over accounts by these percentages."""
    model = active_model()
    sizes = {slug_of(share): round(number * share / 100) for share in shares}
    sizes[slug_of(None)] = number - sum(sizes.values())
    existing = {account.slug: account for account in list_all_accounts()}
    rebuild = number >= MANY
    if rebuild:
        drop_indexes(model)
    try:
        for place, (slug, size) in enumerate(sizes.items()):
            account = existing.get(slug) or create_account(name=slug, slug=slug)
            Seeder(account, model, size, np.random.default_rng(place)).fill(report_progress)
            pack_recent(account.pk, COLLECTION)
            pack_codes(account.pk, COLLECTION)
    finally:
        if rebuild:
            report_line("Building the index of the vectors …")
            create_indexes(model)
    report_line("Collecting statistics …")
    with connections[OWNER].cursor() as cursor:
        cursor.execute(f"VACUUM ANALYZE {', '.join(TABLES)}")


@dataclass
class Rows:
    """Rows of some commits, by table."""

    models: dict[type[Model], list[Model]] = field(default_factory=dict)
    documents: list[tuple[Any, ...]] = field(default_factory=list)
    vectors: list[tuple[Any, ...]] = field(default_factory=list)

    def add(self, rows: Iterable[Model]) -> None:
        for row in rows:
            self.models.setdefault(type(row), []).append(row)

    def copy(self) -> None:
        with transaction.atomic(using=OWNER):
            for rows in self.models.values():
                copy_models(rows)
            copy_rows("search_indexeddocument", DOCUMENT_COLUMNS, self.documents)
            copy_vectors(self.vectors)


class Seeder:
    """Writer of the synthetic data of one account."""

    def __init__(
        self, account: Account, model: EmbeddingModel, number: int, rng: np.random.Generator
    ) -> None:
        self.account, self.model, self.number = account, model, number
        self.population = Population(account.pk, max(number // ENTRIES_PER_USER, 3), rng)
        self.cloud = Cloud(model.dimensions, rng)
        self.head = self._head()

    def fill(self, report_progress: ReportProgress) -> None:
        left = self.number
        while left > 0:
            rows = Rows()
            for _ in range(BLOCKS_AT_ONCE):
                size = min(BLOCK, left)
                if size:
                    self._block(size, rows)
                    left -= size
                    report_progress(size)
            rows.copy()

    def _head(self) -> Head:
        """Return the number and hash of the last commit."""
        commits = Commit.objects.using(OWNER).of(self.account).order_by("-seq")
        last_commit = commits.values_list("seq", "commit_hash").first()
        return Head(*last_commit) if last_commit else EMPTY_CHAIN_HEAD

    def _block(self, size: int, rows: Rows) -> None:
        """Write one commit with all rows that depend on it."""
        commit = Recording(account_id=self.account.pk, actor=SYSTEM, input=None, reason=REASON)
        entries = self.population.entries(size, commit.id)
        commit.add_all(entries, "ADD")
        rows.add(self._sealed(commit))
        rows.add(entries)
        rows.add(build_version(entry, commit, REASON) for entry in entries)
        pairs = [(a, b) for a, b in pairwise(entries) if a.run_id and a.run_id == b.run_id]
        rows.add(
            build_derived_edge(
                self.account.pk, one.pk, other.pk, MemoryEdge.Type.NEXT, weight=NEXT_WEIGHT
            )
            for one, other in pairs
        )
        for entry in entries:
            rows.add(self._done(entry, commit.id))
            document = encode_document(entry.pk, build_indexed_text(entry))
            rows.documents.append(
                (
                    *(self.account.pk, COLLECTION, entry.pk),
                    *(document["length"], json.dumps(document["terms"])),
                )
            )
        rows.vectors += self._vectors(COLLECTION, entries)
        rows.vectors += self._vectors(CONTEXT_COLLECTION, [after for _, after in pairs])

    def _sealed(self, draft: Recording) -> Iterator[Model]:
        """Return the commit as `recording` would write it, with its seals."""
        salt, contents = urandom(SALT_BYTES), {"input": draft.input, "reason": draft.reason}
        commit = Commit(
            id=draft.id,
            account_id=self.account.pk,
            seq=self.head.seq + 1,
            parent_hash=self.head.commit_hash,
            actor=str(draft.actor),
            created_at=timezone.now(),
            input_digest=digest(salt, contents),
            diff=draft.diff,
        )
        commit.commit_hash = compute_commit_hash(commit.link())
        self.head = Head(commit.seq, commit.commit_hash)
        yield commit
        yield Note(account_id=self.account.pk, commit_id=draft.id, salt=salt, **contents)
        for seal in draft.seals:
            yield Seal(account_id=self.account.pk, commit_id=draft.id, **seal._asdict())

    def _done(self, entry: MemoryEntry, commit_id: UUID) -> Iterator[Model]:
        """Return the delivery record of an embedded entry."""
        payload = {"entry": str(entry.pk)}
        event = OutboxEvent(
            account_id=self.account.pk,
            topic=EMBED,
            job_key=f"{entry.pk}:{commit_id}",
            payload=payload,
            payload_sha256=hashlib.sha256(encode_canonical(payload)).hexdigest(),
            created_at=entry.created_at,
        )
        yield event
        yield Delivery(
            account_id=self.account.pk,
            event_id=event.pk,
            handler="memory.handlers.embed",
            queue="embedding",
            attempts=1,
            due_at=entry.created_at,
            done_at=entry.created_at,
        )

    def _vectors(
        self, collection: str, entries: Sequence[MemoryEntry]
    ) -> Iterator[tuple[Any, ...]]:
        drawn = encode_halfvec(self.cloud.draw(len(entries)))
        for entry, vector in zip(entries, drawn, strict=True):
            sha256 = hashlib.sha256(vector).hexdigest()
            yield (
                *(uuid7(), self.account.pk, collection, entry.pk, 0, self.model.pk, sha256),
                *("READY", vector, "", entry.created_at),
            )
