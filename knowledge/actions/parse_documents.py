"""Parsing of documents by workers: bytes from the database, text into it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import PurePosixPath
from tempfile import TemporaryFile
from typing import BinaryIO
from uuid import UUID

from django.utils.translation import gettext as _

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import SYSTEM
from kmapp.database.ids import uuid7
from kmapp.errors import Conflict, DomainError, NotFound
from kmapp.ledger.actions import recording
from knowledge.actions.chunks import settle_chunks
from knowledge.actions.ingest import (
    COLUMNS,
    cuttings_of,
    digest,
    enqueue_parsing,
    ingest,
    text_row,
)
from knowledge.actions.prepare_delivery import UNKNOWN, Delivery, Reading, cutting_of, prepare
from knowledge.actions.quotas import refuse_too_much
from knowledge.models import KnowledgeDocument, KnowledgePiece, KnowledgeSource, KnowledgeText
from knowledge.parsing.formats import ARCHIVE, Format, format_of, title_of
from knowledge.parsing.sandbox import CannotRead, read_archive, read_text
from knowledge.retrieval.cache_version import touch

TOGETHER = 50  # files of an archive that become one commit
BYTES_TOGETHER = 1024 * 1024
State = KnowledgeDocument.State


def read_document(account_id: UUID, document_id: UUID) -> None:
    """Parse a file that waits, outside of any transaction. What cannot be read says why."""
    with acting(account_id):
        rows = KnowledgeDocument.objects.of(account_id).present().select_related("source")
        document = rows.filter(pk=document_id, state=State.PENDING).first()
    if document is None:
        return  # erased, removed or read since
    try:
        with _original(document) as file:
            form = format_of(document.ref, document.mime, file.read(512))
            if form is None:
                raise CannotRead(UNKNOWN)
            if form == ARCHIVE:
                _unpack(document, read_archive(file))
                _settle(document, lambda held: setattr(held, "state", State.READY))
            else:
                _store(document, _read(document, form, file))
    except (CannotRead, DomainError) as error:
        fail(document, str(error))


@contextmanager
def _original(document: KnowledgeDocument) -> Iterator[BinaryIO]:
    """Write the original file to disk piece by piece, never whole in memory."""
    with TemporaryFile() as file:
        number = 0
        while True:
            with acting(document.account_id):
                pieces = KnowledgePiece.objects.of(document.account_id)
                piece = pieces.filter(document=document, number=number).first()
            if piece is None:
                break
            file.write(bytes(piece.data))
            number += 1
        file.seek(0)
        yield file


def _read(document: KnowledgeDocument, form: Format, file: BinaryIO) -> Reading:
    cutting = cutting_of(form, document.source.index_versions)
    parsed = read_text(form.parser or "text", file, cutting)
    title = document.title or parsed.title or title_of(document.ref, parsed.text, form.shape)
    return Reading(text=parsed.text, format=form, title=title, chunks=parsed.chunks)


def _store(document: KnowledgeDocument, reading: Reading) -> None:
    with acting(document.account_id):
        held = held_still(document)
        if held is None:
            return
        title_before = held.title
        with recording(held.account_id, SYSTEM) as commit:
            _update(held, reading)
            held.commit_id = commit.id
            text_now = _present(held, reading)
            if text_now is None:
                held.version += 1
                text_now = text_row(held, reading, commit)
                text_now.save(force_insert=True)
                commit.add(text_now, "ADD")
            held.save(update_fields=[*COLUMNS])
            commit.add(held, "READ")
            cuttings = list(cuttings_of(held, text_now, reading, title_before))
            settle_chunks(held.account_id, cuttings, commit.id)
        touch(held.account_id)


def _update(held: KnowledgeDocument, reading: Reading) -> None:
    held.state, held.error, held.title = State.READY, "", reading.title


def _present(held: KnowledgeDocument, reading: Reading) -> KnowledgeText | None:
    rows = KnowledgeText.objects.of(held.account_id).filter(document=held, version=held.version)
    return rows.filter(sha256=digest(reading.text)).first()


def held_still(document: KnowledgeDocument) -> KnowledgeDocument | None:
    """Return the document if it still waits with this file; a newer delivery has its own job.

    A document that its source removed meanwhile is not returned.
    """
    sources = KnowledgeSource.objects.of(document.account_id).select_for_update(no_key=True)
    if sources.filter(pk=document.source_id).first() is None:
        return None  # erased meanwhile
    rows = KnowledgeDocument.objects.of(document.account_id).present()
    return (
        rows.select_for_update(no_key=True)
        .filter(pk=document.pk, state=State.PENDING, sha256=document.sha256)
        .first()
    )


def _unpack(document: KnowledgeDocument, files: Iterator[tuple[str, bytes]]) -> None:
    """Deliver the files of an archive under its name; those it has no more are removed."""
    source, folder = document.source, str(PurePosixPath(document.ref).with_suffix(""))
    seen: set[str] = set()
    some: list[Delivery] = []
    for name, data in files:
        ref = f"{folder}/{name}"[:1000]
        if ref in seen or format_of(ref, "", data[:512]) in (None, ARCHIVE):
            continue  # nothing to read, or an archive in an archive
        seen.add(ref)
        some.append(replace(Delivery.of(ref, data), revision=document.revision))
        if len(some) >= TOGETHER or sum(each.size for each in some) > BYTES_TOGETHER:
            _deliver(source, some)
            some = []
    _deliver(source, some)
    with acting(source.account_id):
        rows = KnowledgeDocument.objects.of(source.account_id).present().filter(source=source)
        inside = rows.filter(ref__startswith=f"{folder}/").values_list("ref", flat=True)
        ingest(source, SYSTEM, [], remove=[ref for ref in inside if ref not in seen])


def _deliver(source: KnowledgeSource, files: list[Delivery]) -> None:
    prepared = prepare(source, files)
    with acting(source.account_id):
        refuse_too_much(source.account_id, files)
        ingest(source, SYSTEM, prepared)


def _settle(document: KnowledgeDocument, change: Callable[[KnowledgeDocument], None]) -> None:
    with acting(document.account_id):
        if held := held_still(document):
            change(held)
            held.save(update_fields=["state", "error"])


def fail(document: KnowledgeDocument, why: str) -> None:
    """Let a document that still waits say why it has no text."""

    def change(held: KnowledgeDocument) -> None:
        held.state, held.error = State.FAILED, why[:500]

    _settle(document, change)


def read_again(account_id: UUID, document_id: UUID) -> KnowledgeDocument:
    """Let a file that could not be read be tried again. Use inside `acting`."""
    rows = KnowledgeDocument.objects.of(account_id).present()
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
    enqueue_parsing(account_id, [document], uuid7())
    return document
