"""Ingestion of deliveries: unchanged documents are skipped, changed ones are chunked again."""

import hashlib
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.utils import timezone

from kmapp.accounts.actors import Actor
from kmapp.database.ids import uuid7
from kmapp.errors import Invalid, NotFound
from kmapp.ledger.actions import Recording, recording
from knowledge.actions.chunks import ChunkedText, index_titles, replace_chunks
from knowledge.actions.list_archive_files import list_archived_files
from knowledge.actions.parsing_jobs import enqueue_parsing
from knowledge.actions.prepare_delivery import (
    DeliveredFile,
    ParsedText,
    PreparedDelivery,
    digest_title,
)
from knowledge.actions.sources import lock_source
from knowledge.models import KnowledgeDocument, KnowledgePiece, KnowledgeSource, KnowledgeText
from knowledge.parsing.formats import ARCHIVE, get_archive_folder
from knowledge.retrieval.cache_version import invalidate_cache
from knowledge.retrieval.citations import find_gone_error

State = KnowledgeDocument.State
COLUMNS = (
    *("title", "mime", "url", "sha256", "size", "version", "revision", "state", "error"),
    *("observed_at", "removed_at", "updated_at", "commit"),
)


@dataclass(kw_only=True)
class IngestResult:
    documents: list[KnowledgeDocument] = field(default_factory=list)
    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    events: list[UUID] = field(default_factory=list)  # of the files that workers parse
    chunks: Counter[str] = field(default_factory=Counter)  # as `replace_chunks` returns it
    commit_id: UUID | None = None


def ingest_deliveries(
    source: KnowledgeSource,
    actor: Actor,
    prepared: Sequence[PreparedDelivery],
    *,
    remove: Sequence[str] = (),
    commit: Recording | None = None,
) -> IngestResult:
    """Write prepared deliveries in one commit, or in that of a larger change. Inside `acting`."""
    refs = [each.delivery.ref for each in prepared]
    _check_duplicates(refs)
    account_id = source.account_id
    # Each source takes one delivery at a time: two could give a text the same version number.
    locked = lock_source(account_id, source.pk)
    if locked is None:  # erased while the delivery was parsed
        raise find_gone_error(account_id, source.pk) or NotFound("Source not found.")
    rows = KnowledgeDocument.objects.of(account_id).filter(source=locked)
    existing = {row.ref: row for row in rows.filter(ref__in=[*refs, *remove])}
    result = IngestResult()
    with recording(account_id, actor, within=commit) as own:
        ingestion = _Ingestion(locked, actor, own, result)
        for each in prepared:
            ingestion.add(each, existing.get(each.delivery.ref))
        ingestion.write()
        # A ref in `remove` may occur twice. If it is also delivered, its document stays.
        delivered = set(refs)
        removed = [existing.get(ref) for ref in dict.fromkeys(remove) if ref not in delivered]
        surplus = [row for row in removed if row and not row.removed_at]
        surplus += list_archived_files(rows.exclude(ref__in=[*refs, *remove]), surplus)
        ingestion.remove(surplus)
        sources = KnowledgeSource.objects.of(account_id).filter(pk=source.pk)
        sources.update(refreshed_at=timezone.now())
    if own.diff:
        result.commit_id = own.id
        invalidate_cache(account_id)
    return result


def list_undelivered(source: KnowledgeSource, refs: Collection[str]) -> list[str]:
    """Return the refs of the documents that a complete delivery of `refs` does not contain.

    Files of a delivered archive are not among them: only the job that unpacks the archive knows
    its files, and an unchanged archive has no job.
    """
    rows = KnowledgeDocument.objects.of(source.account_id).not_removed().filter(source=source)
    stored = list(rows.values_list("ref", "mime"))
    archives = [ref for ref, mime in stored if mime == ARCHIVE.mime and ref in refs]
    folders = tuple(f"{get_archive_folder(ref)}/" for ref in archives)
    return [ref for ref, _mime in stored if ref not in refs and not ref.startswith(folders)]


def _check_duplicates(refs: Sequence[str]) -> None:
    if len(set(refs)) < len(refs):
        issues = [
            {"path": f"documents.{i}.ref", "message": f"{ref} again"}
            for i, ref in enumerate(refs)
            if ref in refs[:i]
        ]
        raise Invalid("The same ref occurs twice: send each document once.", issues=issues)


class _Ingestion:
    def __init__(
        self, source: KnowledgeSource, actor: Actor, commit: Recording, result: IngestResult
    ) -> None:
        self.source, self.actor, self.commit, self.result = source, actor, commit, result
        self.account_id = source.account_id
        self.created: list[KnowledgeDocument] = []
        self.replaced: list[KnowledgeDocument] = []  # by another file
        self.updated: list[KnowledgeDocument] = []  # with an unchanged file
        self.retitled: list[KnowledgeDocument] = []  # those of `updated` with a new title
        self.texts: list[KnowledgeText] = []
        self.chunked_texts: list[ChunkedText] = []
        self.unparsed: list[tuple[KnowledgeDocument, DeliveredFile]] = []
        self.former_titles: dict[UUID, str] = {}  # digests, see `enqueue_parsing`

    def add(self, prepared: PreparedDelivery, existing: KnowledgeDocument | None) -> None:
        delivery = prepared.delivery
        if existing and self._has_same_content(existing, prepared):
            self._update_metadata(existing, delivery)
            return
        # The index versions may have changed since the caller loaded the source.
        prepared = prepared.with_index_versions(self.source.index_versions)
        document = existing
        if document is None:
            document = KnowledgeDocument(
                id=uuid7(),
                account_id=self.account_id,
                source=self.source,
                ref=delivery.ref,
                created_by=str(self.actor),
                created_at=timezone.now(),
            )
            self.created.append(document)
        else:
            self.replaced.append(document)
        (self.result.changed if existing else self.result.added).append(delivery.ref)
        title_before = document.title
        self._set_fields(document, prepared)
        self.result.documents.append(document)
        if prepared.parsed:
            text, is_new = find_or_build_text(document, prepared.parsed, self.commit)
            if is_new:
                self.texts.append(text)
            self.chunked_texts.append(
                ChunkedText(
                    document=document,
                    text=text,
                    chunks=prepared.parsed.chunks,
                    title_before=title_before,
                )
            )
        elif not prepared.error:
            self.unparsed.append((document, delivery))
            if not delivery.title:
                former_title = delivery.former_title or digest_title(title_before)
                self.former_titles[document.pk] = former_title

    def _has_same_content(self, existing: KnowledgeDocument, prepared: PreparedDelivery) -> bool:
        """Return whether a document need not be parsed again.

        An archive with a new revision must be, because its files get that revision. A page with
        another address must be fetched, although both digests are equal: they are still empty.
        """
        delivery = prepared.delivery
        if existing.removed_at or existing.state == State.FAILED:
            return False
        if delivery.to_fetch and existing.url != delivery.url:
            return False
        revision = self._get_revision(delivery)
        is_new_archive = prepared.format == ARCHIVE and existing.revision != revision
        return existing.sha256 == delivery.sha256 and not is_new_archive

    def _get_revision(self, delivery: DeliveredFile) -> str:
        return delivery.revision or self.source.revision

    def _update_metadata(self, document: KnowledgeDocument, delivery: DeliveredFile) -> None:
        """Update what a delivery states about an unchanged file; values left out stay."""
        delivered_values = {
            "title": delivery.title,
            "url": delivery.url,
            "revision": self._get_revision(delivery),
        }
        values = {
            name: v for name, v in delivered_values.items() if v and v != getattr(document, name)
        }
        self.result.documents.append(document)
        if not values:
            self.result.unchanged.append(delivery.ref)
            return
        self.result.changed.append(delivery.ref)
        self.updated.append(document)
        if "title" in values:
            self.retitled.append(document)
        for name, value in values.items():
            setattr(document, name, value)
        document.updated_at, document.commit_id = timezone.now(), self.commit.id

    def _set_fields(self, document: KnowledgeDocument, prepared: PreparedDelivery) -> None:
        delivery, reading, now = prepared.delivery, prepared.parsed, timezone.now()
        document.mime = prepared.format.mime if prepared.format else "application/octet-stream"
        document.title = reading.title if reading else delivery.title or document.title
        document.url, document.revision = delivery.url, self._get_revision(delivery)
        document.sha256, document.size = delivery.sha256, delivery.size
        document.observed_at = delivery.observed_at or now
        document.removed_at, document.updated_at = None, now
        document.error = prepared.error
        pending_state = State.FAILED if prepared.error else State.PENDING
        document.state = State.READY if reading else pending_state
        document.commit_id = self.commit.id

    def write(self) -> None:
        """Write rows in the order of their foreign keys."""
        KnowledgeDocument.objects.bulk_create(self.created, batch_size=500)
        changed = [*self.replaced, *self.updated]
        KnowledgeDocument.objects.bulk_update(changed, COLUMNS, batch_size=200)
        KnowledgeText.objects.bulk_create(self.texts, batch_size=100)
        self.commit.add_all(self.created, "ADD")
        self.commit.add_all(changed, "UPDATE")
        self.commit.add_all(self.texts, "ADD")
        self.result.chunks = replace_chunks(self.account_id, self.chunked_texts, self.commit.id)
        index_titles(self.account_id, self.retitled, self.commit.id)
        if self.replaced:  # delete their previous files
            KnowledgePiece.objects.of(self.account_id).filter(document__in=self.replaced).delete()
        for document, delivery in self.unparsed:
            for number, piece in enumerate(delivery.pieces):
                KnowledgePiece(
                    account_id=self.account_id, document=document, number=number, data=piece
                ).save(force_insert=True)
        self.result.events = enqueue_parsing(
            self.account_id,
            [document for document, _ in self.unparsed],
            self.commit.id,
            self.former_titles,
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
        without_chunks = [
            ChunkedText(document=each, text=KnowledgeText(), chunks={}, title_before=each.title)
            for each in documents
        ]
        self.result.chunks += replace_chunks(self.account_id, without_chunks, self.commit.id)


def find_or_build_text(
    document: KnowledgeDocument, parsed: ParsedText, commit: Recording
) -> tuple[KnowledgeText, bool]:
    """Return the current text if it is unchanged, or the next version, and whether it is new."""
    sha256 = hashlib.sha256(parsed.text.encode()).hexdigest()
    rows = KnowledgeText.objects.of(document.account_id).filter(document=document, sha256=sha256)
    rows = rows.filter(shape=parsed.format.shape, language=parsed.format.language)
    if document.version and (text := rows.filter(version=document.version).first()):
        return text, False
    document.version += 1
    text = KnowledgeText(
        id=uuid7(),
        account_id=document.account_id,
        commit_id=commit.id,
        document=document,
        version=document.version,
        sha256=sha256,
        file_sha256=document.sha256,
        revision=document.revision,
        shape=parsed.format.shape,
        language=parsed.format.language,
        text=parsed.text,
        created_at=timezone.now(),
    )
    return text, True
