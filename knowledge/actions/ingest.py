"""Ingestion of deliveries: unchanged documents are kept, changed ones are chunked again."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.utils import timezone

from kmapp.accounts.actors import Actor
from kmapp.database.ids import uuid7
from kmapp.errors import Invalid, NotFound
from kmapp.ledger.actions import Recording, recording
from kmapp.outbox.actions import Task, publish
from knowledge.actions.chunks import ChunkChanges, Cutting, settle_chunks
from knowledge.actions.prepare_delivery import Delivery, Prepared, Reading
from knowledge.chunking.index_versions import CUTS
from knowledge.models import KnowledgeDocument, KnowledgePiece, KnowledgeSource, KnowledgeText
from knowledge.retrieval.cache_version import touch
from knowledge.retrieval.citations import gone

READ = "knowledge.document.read"
FETCH = "knowledge.document.fetch"
State = KnowledgeDocument.State


@dataclass(kw_only=True)
class IngestResult:
    """What came of a delivery."""

    documents: list[KnowledgeDocument] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    events: list[UUID] = field(default_factory=list)  # of files that workers read
    chunks: ChunkChanges = field(default_factory=ChunkChanges)
    commit_id: UUID | None = None


def ingest(
    source: KnowledgeSource,
    actor: Actor,
    prepared: Sequence[Prepared],
    *,
    remove: Sequence[str] = (),
) -> IngestResult:
    """Write what was prepared, in one commit. Use inside `acting`; equal files change nothing."""
    _refuse_twins(prepared)
    account_id = source.account_id
    # One delivery at a time for each source: two would number the same text twice.
    source = _held(source)
    rows = KnowledgeDocument.objects.of(account_id).filter(source=source)
    delivered_refs = [each.delivery.ref for each in prepared]
    existing = {row.ref: row for row in rows.filter(ref__in=[*delivered_refs, *remove])}
    result = IngestResult()
    with recording(account_id, actor) as commit:
        delivered = _Delivered(source, actor, commit, result)
        for each in prepared:
            delivered.ingest_document(each, existing.get(each.delivery.ref))
        delivered.write()
        removed = [row for ref in remove if (row := existing.get(ref)) and not row.removed_at]
        delivered.remove(removed)
    if commit.diff:
        result.commit_id = commit.id
        touch(account_id)
    rows_of_source = KnowledgeSource.objects.of(account_id).filter(pk=source.pk)
    rows_of_source.update(refreshed_at=timezone.now())
    return result


def _held(source: KnowledgeSource) -> KnowledgeSource:
    """Somebody may have erased it while what came was read."""
    rows = KnowledgeSource.objects.of(source.account_id).select_for_update(no_key=True)
    if locked := rows.filter(pk=source.pk).first():
        return locked
    raise gone(source.account_id, source.pk) or NotFound("Source not found.")


def _refuse_twins(prepared: Sequence[Prepared]) -> None:
    refs = [each.delivery.ref for each in prepared]
    if len(set(refs)) < len(refs):
        issues = [
            {"path": f"documents.{i}.ref", "message": f"{ref} again"}
            for i, ref in enumerate(refs)
            if ref in refs[:i]
        ]
        raise Invalid("The same ref occurs twice: send each document once.", issues=issues)


class _Delivered:
    """One commit in the making."""

    def __init__(
        self, source: KnowledgeSource, actor: Actor, commit: Recording, result: IngestResult
    ) -> None:
        self.source, self.actor, self.commit, self.result = source, actor, commit, result
        self.account_id = source.account_id
        self.fresh: list[KnowledgeDocument] = []
        self.texts: list[KnowledgeText] = []
        self.cuttings: list[Cutting] = []
        self.pieces: list[tuple[KnowledgeDocument, Delivery]] = []

    def ingest_document(self, prepared: Prepared, existing: KnowledgeDocument | None) -> None:
        delivery = prepared.delivery
        is_finished = existing and not existing.removed_at and existing.state != State.FAILED
        if prepared.unchanged or (is_finished and existing and existing.sha256 == delivery.sha256):
            if existing:
                self.result.documents.append(existing)
            self.result.unchanged.append(delivery.ref)
            return
        document = existing or self._new(delivery)
        (self.result.changed if existing else self.result.added).append(delivery.ref)
        title_before = document.title
        self._describe(document, prepared)
        self.result.documents.append(document)
        if prepared.reading:
            self._settle(document, prepared.reading, title_before)
        elif not prepared.error:
            self.pieces.append((document, delivery))

    def _new(self, delivery: Delivery) -> KnowledgeDocument:
        now = timezone.now()
        document = KnowledgeDocument(
            id=uuid7(),
            account_id=self.account_id,
            source=self.source,
            ref=delivery.ref,
            created_by=str(self.actor),
            created_at=now,
        )
        self.fresh.append(document)
        return document

    def _describe(self, document: KnowledgeDocument, prepared: Prepared) -> None:
        delivery, reading, now = prepared.delivery, prepared.reading, timezone.now()
        document.mime = prepared.format.mime if prepared.format else "application/octet-stream"
        document.title = reading.title if reading else delivery.title or document.title
        document.url, document.revision = delivery.url, delivery.revision or self.source.revision
        document.sha256, document.size = delivery.sha256, delivery.size
        document.observed_at = delivery.observed_at or now
        document.removed_at, document.updated_at = None, now
        document.error = prepared.error
        pending_state = State.FAILED if prepared.error else State.PENDING
        document.state = State.READY if reading else pending_state
        document.commit_id = self.commit.id

    def _settle(self, document: KnowledgeDocument, reading: Reading, title_before: str) -> None:
        """Store a new version if the text changed, and update its chunks."""
        text = _same_text(document, reading)
        if text is None:
            document.version += 1
            text = text_row(document, reading, self.commit)
            self.texts.append(text)
        self.cuttings += cuttings_of(document, text, reading, title_before)

    def write(self) -> None:
        """Rows in the order in which they refer to each other."""
        existing = {document.pk for document in self.fresh}
        KnowledgeDocument.objects.bulk_create(self.fresh, batch_size=500)
        changed = [
            doc
            for doc in self.result.documents
            if doc.pk not in existing and doc.commit_id == self.commit.id
        ]
        KnowledgeDocument.objects.bulk_update(changed, COLUMNS, batch_size=200)
        KnowledgeText.objects.bulk_create(self.texts, batch_size=100)
        self.commit.add_all(self.fresh, "ADD")
        self.commit.add_all(changed, "UPDATE")
        self.commit.add_all(self.texts, "ADD")
        self.result.chunks = settle_chunks(self.account_id, self.cuttings, self.commit.id)
        if changed:  # the files of what they were
            KnowledgePiece.objects.of(self.account_id).filter(document__in=changed).delete()
        for document, delivery in self.pieces:
            store_pieces(document, delivery.pieces)
        self.result.events = enqueue_parsing(
            self.account_id, [document for document, _ in self.pieces], self.commit.id
        )

    def remove(self, documents: Sequence[KnowledgeDocument]) -> None:
        """Remove documents that the source no longer has; cited texts stay readable."""
        now = timezone.now()
        for document in documents:
            document.removed_at = document.updated_at = now
            document.commit_id = self.commit.id
            self.result.removed.append(document.ref)
        KnowledgeDocument.objects.bulk_update(documents, COLUMNS, batch_size=200)
        self.commit.add_all(documents, "REMOVE")
        nothing = [
            Cutting(
                document=document,
                text=KnowledgeText(),
                index_version=version,
                chunks=(),
                title_before=document.title,
            )
            for document in documents
            for version in CUTS
        ]
        self.result.chunks += settle_chunks(self.account_id, nothing, self.commit.id)


COLUMNS = (
    *("title", "mime", "url", "sha256", "size", "version", "revision", "state", "error"),
    *("observed_at", "removed_at", "updated_at", "commit"),
)


def cuttings_of(
    document: KnowledgeDocument, text: KnowledgeText, reading: Reading, title_before: str
) -> Iterator[Cutting]:
    """Return the chunking of each index version; versions that the source dropped get none."""
    for version in CUTS:
        yield Cutting(
            document=document,
            text=text,
            index_version=version,
            chunks=reading.chunks.get(version, ()),
            title_before=title_before,
        )


def _same_text(document: KnowledgeDocument, reading: Reading) -> KnowledgeText | None:
    """Return the current text of a document if the file is unchanged."""
    if not document.version:
        return None
    rows = KnowledgeText.objects.of(document.account_id).filter(document=document)
    return rows.filter(version=document.version, sha256=digest(reading.text)).first()


def text_row(document: KnowledgeDocument, reading: Reading, commit: Recording) -> KnowledgeText:
    return KnowledgeText(
        id=uuid7(),
        account_id=document.account_id,
        commit_id=commit.id,
        document=document,
        version=document.version,
        sha256=digest(reading.text),
        file_sha256=document.sha256,
        revision=document.revision,
        shape=reading.format.shape,
        language=reading.format.language,
        text=reading.text,
        created_at=timezone.now(),
    )


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def store_pieces(document: KnowledgeDocument, pieces: Iterable[bytes]) -> None:
    """Keep a file for its reader, a piece at a time."""
    for number, piece in enumerate(pieces):
        KnowledgePiece(
            account_id=document.account_id, document=document, number=number, data=piece
        ).save(force_insert=True)


def enqueue_parsing(
    account_id: UUID, documents: Sequence[KnowledgeDocument], job: UUID
) -> list[UUID]:
    """Queue files for a reader, and pages to be fetched. Returns the events, in their order."""
    tasks: dict[str, list[Task]] = {READ: [], FETCH: []}
    for document in documents:
        task = Task(job_key=f"{document.pk}:{job}", payload={"document": str(document.pk)})
        tasks[READ if document.sha256 else FETCH].append(task)
    events = publish(account_id, READ, tasks[READ]) | publish(account_id, FETCH, tasks[FETCH])
    return [events[f"{document.pk}:{job}"] for document in documents]
