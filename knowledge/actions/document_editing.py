"""Documents that people write. They are ingested like files, so agents find them at once."""

import re
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath
from uuid import UUID

from django.db.models import Func, IntegerField
from django.utils.translation import gettext as _

from kmapp.accounts.acting import acting
from kmapp.accounts.actors import Actor
from kmapp.errors import Conflict, Invalid, NotFound, TooLarge
from kmapp.ledger.actions import recording
from knowledge.actions.ingest import ingest_deliveries
from knowledge.actions.prepare_delivery import (
    MAX_INLINE_BYTES,
    DeliveredFile,
    check_quota,
    prepare_deliveries,
)
from knowledge.actions.sources import (
    NewSource,
    check_source,
    ensure_source,
    find_source,
    lock_source,
)
from knowledge.chunking import Shape
from knowledge.models import KnowledgeDocument, KnowledgeSource, KnowledgeText
from knowledge.parsing.formats import MARKDOWN, PLAIN, extract_title

EDITABLE = frozenset({MARKDOWN.mime, PLAIN.mime})
MAX_LENGTH = MAX_INLINE_BYTES  # a text is parsed in the request that saves it
SLUG_LENGTH = 100
_WORDS = re.compile(r"[^\w]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class NewDocument:
    source: str  # name; the source is created if it does not exist
    folder: str
    title: str
    text: str

    @property
    def ref(self) -> str:
        slug = _WORDS.sub("-", self.title).strip("-").lower()[:SLUG_LENGTH]
        parts = [part.strip() for part in self.folder.split("/")]
        folder = [part for part in parts if part not in ("", ".", "..")]
        return "/".join([*folder, f"{slug or 'document'}.md"])

    @property
    def content(self) -> str:
        """Return the text with the title as its first heading."""
        text = self.text.strip("\n")
        return text if text.startswith("# ") else f"# {self.title}\n\n{text}\n"


def is_editable(document: KnowledgeDocument) -> bool:
    """Return whether people can edit the text. In other formats, they replace the file instead."""
    return bool(document.mime in EDITABLE and document.version and not document.removed_at)


def fits_page(document: KnowledgeDocument) -> bool:
    """Return whether the current text is short enough for a page. Inside `acting`."""
    if document.state != KnowledgeDocument.State.FAILED:
        return document.size <= MAX_LENGTH
    # The size is that of the file that failed; the text is of an earlier one.
    rows = KnowledgeText.objects.of(document.account_id).filter(document=document)
    size = Func("text", function="octet_length", output_field=IntegerField())
    current = rows.filter(version=document.version).annotate(size=size)
    return current.filter(size__lte=MAX_LENGTH).exists()


def fits_editor(document: KnowledgeDocument) -> bool:
    """Return whether people can edit the current text on a page: a longer one cannot be saved."""
    return is_editable(document) and fits_page(document)


def load_text(document: KnowledgeDocument, version: int) -> KnowledgeText:
    """Return a version of the text. Inside `acting`."""
    rows = KnowledgeText.objects.of(document.account_id).filter(document=document)
    text = rows.filter(version=version).first()
    if text is None:
        raise NotFound(_("This version does not exist."))
    return text


def normalize_line_ends(text: str) -> str:
    """Return a text with line feeds as line ends, as people save it."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def create_document(account_id: UUID, actor: Actor, new: NewDocument) -> KnowledgeDocument:
    """Store a new document. Opens `acting` itself, because parsing is outside of it."""
    delivery = DeliveredFile.of(new.ref, _encode_text(new.content), mime=MARKDOWN.mime)
    with acting(account_id):
        check_quota(account_id, [delivery])
        exists = find_source(account_id, new.source)
        # A new source is trusted, because people of the account write its documents.
        kind, trust = ("", "") if exists else ("upload", "trusted")
        source_input = NewSource(name=new.source, kind=kind, trust=trust)
        source = check_source(account_id, actor, source_input)
        _check_new(source, new.ref)
    prepared = prepare_deliveries(source, [delivery])
    with acting(account_id), recording(account_id, actor) as commit:
        source = ensure_source(account_id, actor, source_input, commit=commit)
        _check_new(source, new.ref)
        return ingest_deliveries(source, actor, prepared, commit=commit).documents[0]


def has_written(account_id: UUID, actor: Actor, new: NewDocument, *, since: datetime) -> bool:
    """Return whether the person has stored this new document since a time. Inside `acting`."""
    rows = KnowledgeDocument.objects.of(account_id).not_removed()
    return rows.filter(
        source__scope="",
        source__name=new.source,
        ref=new.ref,
        created_by=str(actor),
        created_at__gte=since,
    ).exists()


def save_document(
    account_id: UUID, actor: Actor, document_id: UUID, text: str, *, version: int
) -> KnowledgeDocument:
    """Store the next version of a text. Opens `acting` itself.

    Raise Conflict with the code `stale_version` if `version` is not the current one.
    """
    with acting(account_id):
        document = _load_editable(account_id, document_id)
        source = document.source
        current = load_text(document, document.version)
        derived = extract_title(document.ref, current.text, Shape(current.shape))
    data = _encode_text(text)
    if normalize_line_ends(current.text) == data.decode():
        data = current.text.encode()  # other line ends alone are not a new version
    delivery = DeliveredFile.of(
        document.ref,
        data,
        title="" if document.title == derived else document.title,
        mime=document.mime,
        url=document.url,
    )
    with acting(account_id):
        check_quota(account_id, [delivery])
    prepared = prepare_deliveries(source, [delivery])
    with acting(account_id):
        lock_source(account_id, source.pk)
        locked = _load_editable(account_id, document_id)
        if locked.version != version:
            raise Conflict(
                _("Someone else changed this document. It is now at version %(n)d.")
                % {"n": locked.version},
                code="stale_version",
                details={"version": locked.version},
            )
        return ingest_deliveries(source, actor, prepared).documents[0]


def _load_editable(account_id: UUID, document_id: UUID) -> KnowledgeDocument:
    rows = KnowledgeDocument.objects.of(account_id).select_related("source")
    document = rows.filter(pk=document_id).first()
    if document is None:
        raise NotFound(_("This document does not exist. It may have been erased."))
    if not is_editable(document):
        raise Conflict(
            _("Only Markdown and text can be edited here. Upload a new version of the file.")
        )
    return document


def _check_new(source: KnowledgeSource, ref: str) -> None:
    rows = KnowledgeDocument.objects.of(source.account_id).not_removed()
    if rows.filter(source=source, ref=ref).exists():
        raise Conflict(
            _("“%(ref)s” exists in this source. Choose another title or folder, or edit it.")
            % {"ref": PurePosixPath(ref).as_posix()},
            code="path_taken",
        )


def _encode_text(text: str) -> bytes:
    """Return the bytes to store, with line feeds as line ends."""
    data = normalize_line_ends(text).encode()
    if not data.strip():
        raise Invalid(_("Enter a text."))
    if len(data) > MAX_LENGTH:
        raise TooLarge(
            _("The text is too long: %(size)s bytes. The limit is %(most)s bytes; upload a file.")
            % {"size": f"{len(data):,}", "most": f"{MAX_LENGTH:,}"}
        )
    return data
