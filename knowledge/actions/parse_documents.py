"""Parsing of documents by workers. Files are read from the database and texts written to it."""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from tempfile import TemporaryFile
from typing import BinaryIO
from uuid import UUID

from django.utils.translation import gettext as _

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.database.ids import uuid7
from kmapp.errors import Conflict, DomainError, NotFound, Waiting
from kmapp.ledger.actions import recording
from kmapp.security.virus_scan import CannotScan
from knowledge.actions.chunks import ChunkedText, replace_chunks
from knowledge.actions.ingest import COLUMNS, find_or_build_text, ingest_deliveries
from knowledge.actions.parsing_jobs import enqueue_parsing, find_former_titles
from knowledge.actions.prepare_delivery import (
    UNSUPPORTED_TYPE,
    DeliveredFile,
    ParsedText,
    build_chunk_settings,
    check_quota,
    digest_title,
    prepare_deliveries,
)
from knowledge.actions.sources import lock_source
from knowledge.models import KnowledgeDocument, KnowledgePiece
from knowledge.parsing.formats import (
    ARCHIVE,
    Format,
    extract_title,
    find_format,
    get_archive_folder,
)
from knowledge.parsing.sandbox import CannotParse, parse_in_sandbox, unpack_in_sandbox
from knowledge.retrieval.cache_version import invalidate_cache

BATCH_FILES = 50  # of an archive, in one commit
BATCH_BYTES = 1024 * 1024
State = KnowledgeDocument.State


def parse_document(account_id: UUID, document_id: UUID, former_title: str = "") -> None:
    """Parse a pending file, outside of any transaction, or store why that failed.

    The title of the file replaces a title whose digest is `former_title`.
    """
    with acting(account_id):
        rows = KnowledgeDocument.objects.of(account_id).not_removed().select_related("source")
        document = rows.unparsed().filter(pk=document_id).first()
    if document is None:
        return  # erased, removed or parsed meanwhile
    try:
        with _open_original(document) as file:
            form = find_format(document.ref, document.mime, file.read(512))
            if form is None:
                raise CannotParse(UNSUPPORTED_TYPE)
            if form == ARCHIVE:
                unpack_archive(document, unpack_in_sandbox(file))
            else:
                _store_text(document, _parse_file(document, form, file), former_title)
    except (CannotParse, DomainError) as error:
        fail_document(document, error)


@contextmanager
def _open_original(document: KnowledgeDocument) -> Iterator[BinaryIO]:
    """Write the original file to disk piece by piece, because it may not fit into memory."""
    with TemporaryFile() as file:
        for number in count():
            with acting(document.account_id):
                pieces = KnowledgePiece.objects.of(document.account_id)
                piece = pieces.filter(document=document, number=number).first()
            if piece is None:
                break
            file.write(bytes(piece.data))
        file.seek(0)
        yield file


def _parse_file(document: KnowledgeDocument, form: Format, file: BinaryIO) -> ParsedText:
    chunk_settings = build_chunk_settings(form, document.source.index_versions)
    parsed = parse_in_sandbox(form.parser or "text", file, chunk_settings)
    title = parsed.title or extract_title(document.ref, parsed.text, form.shape)
    return ParsedText(text=parsed.text, format=form, title=title, chunks=parsed.chunks)


def _store_text(document: KnowledgeDocument, parsed: ParsedText, former_title: str) -> None:
    with acting(document.account_id):
        locked = lock_pending(document)
        if locked is None:
            return
        if parsed.chunks.keys() != set(locked.source.index_versions):
            # They changed while the file was parsed, so it is parsed again.
            enqueue_parsing(locked.account_id, [locked], uuid7(), {locked.pk: former_title})
            return
        title_before = locked.title
        with recording(locked.account_id, SYSTEM) as commit:
            # A delivery may have stated a title while the file was parsed.
            if not locked.title or digest_title(locked.title) == former_title:
                locked.title = parsed.title
            locked.state, locked.error = State.READY, ""
            locked.commit_id = commit.id
            text, is_new = find_or_build_text(locked, parsed, commit)
            if is_new:
                text.save(force_insert=True)
                commit.add(text, "ADD")
            locked.save(update_fields=[*COLUMNS])
            commit.add(locked, "READ")
            chunked_text = ChunkedText(
                document=locked, text=text, chunks=parsed.chunks, title_before=title_before
            )
            replace_chunks(locked.account_id, [chunked_text], commit.id)
        invalidate_cache(locked.account_id)


def lock_pending(document: KnowledgeDocument) -> KnowledgeDocument | None:
    """Lock and return the document if this file, or the page at this address, is still pending.

    A newer delivery has its own job. Returns None if the source removed the document meanwhile.
    """
    if lock_source(document.account_id, document.source_id) is None:
        return None  # erased meanwhile
    rows = KnowledgeDocument.objects.of(document.account_id).not_removed()
    if not document.sha256:
        rows = rows.filter(url=document.url)
    return (
        rows.unparsed()
        .select_for_update(no_key=True)
        .filter(pk=document.pk, sha256=document.sha256)
        .first()
    )


def unpack_archive(document: KnowledgeDocument, files: Iterator[tuple[str, bytes]]) -> None:
    """Deliver the files of an archive under its name, and remove files that it no longer has.

    Stops if the archive was replaced or removed meanwhile, because a newer one has its own job.
    """
    source, folder = document.source, get_archive_folder(document.ref)
    seen: set[str] = set()
    batch: list[DeliveredFile] = []
    for name, data in files:
        ref = f"{folder}/{name}"[:1000]
        if ref in seen or find_format(ref, "", data[:512]) in (None, ARCHIVE):
            continue  # a duplicate, an unsupported file, or an archive in an archive
        seen.add(ref)
        batch.append(DeliveredFile.of(ref, data, revision=document.revision))
        if len(batch) >= BATCH_FILES or sum(each.size for each in batch) > BATCH_BYTES:
            if not _deliver(document, batch):
                return
            batch = []
    if not _deliver(document, batch):
        return
    with acting(source.account_id):
        locked = _lock_archive(document)
        if locked is None:
            return
        rows = KnowledgeDocument.objects.of(source.account_id).not_removed().filter(source=source)
        inside = rows.filter(ref__startswith=f"{folder}/").values_list("ref", flat=True)
        removed = [ref for ref in inside if ref not in seen]
        _set_state(locked, State.READY)
        ingest_deliveries(source, SYSTEM, [], remove=removed)


def _lock_archive(archive: KnowledgeDocument) -> KnowledgeDocument | None:
    """Lock and return an archive that is still pending with the same revision.

    Its files get that revision. An archive with a new revision has its own job.
    """
    locked = lock_pending(archive)
    return locked if locked and locked.revision == archive.revision else None


def _deliver(archive: KnowledgeDocument, files: list[DeliveredFile]) -> bool:
    """Deliver files of an archive. Return False if it is no longer pending."""
    prepared = prepare_deliveries(archive.source, files)
    with acting(archive.account_id):
        if _lock_archive(archive) is None:
            return False
        check_quota(archive.account_id, files)
        ingest_deliveries(archive.source, SYSTEM, prepared)
    return True


def fail_document(document: KnowledgeDocument, error: Exception) -> None:
    """Store why a pending document has no text. Raises a temporary error again instead."""
    if isinstance(error, Waiting) and not isinstance(error, CannotScan):
        raise error
    with acting(document.account_id):
        if locked := lock_pending(document):
            _set_state(locked, State.FAILED, str(error)[:500])


def _set_state(locked: KnowledgeDocument, state: State, error: str = "") -> None:
    locked.state, locked.error = state, error
    locked.save(update_fields=["state", "error"])


def retry_document(account_id: UUID, document_id: UUID) -> KnowledgeDocument:
    """Queue a failed document again. Use inside `acting`."""
    rows = KnowledgeDocument.objects.of(account_id).not_removed()
    document = rows.select_for_update(no_key=True).filter(pk=document_id).first()
    if document is None:
        raise NotFound(_("This document does not exist. It may have been erased."))
    if document.state != State.FAILED:
        raise Conflict(_("This document did not fail, so there is nothing to retry."))
    pieces = KnowledgePiece.objects.of(account_id).filter(document=document)
    if document.sha256 and not pieces.exists():
        raise Conflict(_("The original file is no longer stored. Upload it again."))
    document.state, document.error = State.PENDING, ""
    document.save(update_fields=["state", "error"])
    enqueue_parsing(account_id, [document], uuid7(), find_former_titles(document))
    return document
