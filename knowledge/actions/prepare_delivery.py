"""Limits, parsing and chunking of a delivery before anything is written.

Files that need a parser are left to a worker. Files with the stored digest are skipped.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from tempfile import TemporaryFile
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Sum
from django.utils.translation import gettext as _

from kmapp.accounts.acting import acting
from kmapp.errors import TooLarge
from kmapp.security.virus_scan import refuse_infected
from knowledge.chunking import Chunk, Shape, split_chunks
from knowledge.chunking.index_versions import INDEX_VERSIONS
from knowledge.models import KnowledgeDocument, KnowledgeSource
from knowledge.parsing.formats import Format, NotText, decode_text, extract_title, find_format
from knowledge.parsing.sandbox import ChunkSettings, parse_in_sandbox

State = KnowledgeDocument.State
# Bytes of a text that is parsed and chunked in the request. Larger texts go to a worker and there
# to the sandbox, because a request must not hold a large file in memory, and because the time to
# chunk deeply nested code grows with the square of its length.
MAX_INLINE_BYTES = 256 * 1024
MAX_INLINE_CODE_BYTES = 8 * 1024
PIECE_BYTES = 1024 * 1024
UNSUPPORTED_TYPE = "This file type is not supported."


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveredFile:
    """A delivered file. Its bytes come in pieces, so that it need not fit into memory."""

    ref: str
    pieces: Iterable[bytes]  # can be iterated more than once
    title: str = ""
    former_title: str = ""  # digest of a title that the file may replace, if not the current one
    mime: str = ""
    url: str = ""
    revision: str = ""
    observed_at: datetime | None = None
    sha256: str = ""  # empty for a page that must be fetched first
    size: int = 0

    @property
    def to_fetch(self) -> bool:
        return not self.sha256

    @classmethod
    def of(cls, ref: str, data: bytes | Iterable[bytes], **fields: Any) -> "DeliveredFile":
        """Return the delivery of a file whose bytes are at hand, with its digest and size."""
        pieces = StoredFile(partial(_split, data)) if isinstance(data, bytes) else data
        digest, size = hashlib.sha256(), 0
        for piece in pieces:
            digest.update(piece)
            size += len(piece)
        return cls(ref=ref, pieces=pieces, sha256=digest.hexdigest(), size=size, **fields)


def _split(data: bytes) -> Iterator[bytes]:
    """Yield the pieces of a file, each of which is stored by a statement of its own."""
    for start in range(0, len(data) or 1, PIECE_BYTES):
        yield data[start : start + PIECE_BYTES]


@dataclass(frozen=True, slots=True)
class StoredFile:
    """The bytes of a file in pieces; each iteration reads the file again."""

    read: Callable[[], Iterator[bytes]]

    def __iter__(self) -> Iterator[bytes]:
        return self.read()


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedText:
    text: str
    format: Format
    title: str
    chunks: Mapping[str, Sequence[Chunk]]  # by index version


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedDelivery:
    """A delivery, ready to be stored.

    Without `parsed` and `error` it is unchanged, or a worker parses it.
    """

    delivery: DeliveredFile
    format: Format | None
    parsed: ParsedText | None = None
    error: str = ""

    def with_title(self, title: str) -> "PreparedDelivery":
        delivery = replace(self.delivery, title=title)
        parsed = replace(self.parsed, title=title) if self.parsed else None
        return replace(self, delivery=delivery, parsed=parsed)

    def with_index_versions(self, versions: Sequence[str]) -> "PreparedDelivery":
        """Return the delivery with its text chunked for exactly these index versions."""
        parsed = self.parsed
        if parsed is None or parsed.chunks.keys() == set(versions):
            return self
        chunked = parse_text(parsed.text, parsed.format, parsed.title, self.delivery.ref, versions)
        return replace(self, parsed=chunked)


def digest_title(title: str) -> str:
    return hashlib.sha256(title.encode()).hexdigest()


def check_quota(account_id: UUID, deliveries: Sequence[DeliveredFile]) -> None:
    """Refuse deliveries that exceed the limit of a file or of the account. Inside `acting`."""
    for i, each in enumerate(deliveries):
        max_bytes = settings.KNOWLEDGE_MAX_FILE_BYTES
        if each.size > max_bytes:
            raise TooLarge(
                _("“%(ref)s” is too large: %(size)s bytes. The limit is %(most)s bytes per file.")
                % {"ref": each.ref, "size": f"{each.size:,}", "most": f"{max_bytes:,}"},
                issues=[{"path": f"documents.{i}", "message": "is too large"}],
            )
    rows = KnowledgeDocument.objects.of(account_id).not_removed()
    stored_bytes = rows.aggregate(Sum("size"))["size__sum"] or 0
    max_bytes = settings.KNOWLEDGE_MAX_ACCOUNT_BYTES
    if stored_bytes + sum(each.size for each in deliveries) > max_bytes:
        raise TooLarge(
            _(
                "Document storage is full: %(kept)s of %(most)s bytes are used. Erase some "
                "documents, then try again."
            )
            % {"most": f"{max_bytes:,}", "kept": f"{stored_bytes:,}"},
            code="account_full",
        )


def prepare_deliveries(
    source: KnowledgeSource, deliveries: Sequence[DeliveredFile]
) -> list[PreparedDelivery]:
    """Scan, parse and chunk new files. Opens `acting` itself to load the stored digests."""
    for i, each in enumerate(deliveries):
        if not each.to_fetch:
            refuse_infected(each.pieces, name=each.ref, sha256=each.sha256, path=f"documents.{i}")
    with acting(source.account_id):
        rows = KnowledgeDocument.objects.of(source.account_id).not_removed().filter(source=source)
        existing_digests = dict(
            rows.exclude(state=State.FAILED)
            .filter(ref__in=[each.ref for each in deliveries])
            .values_list("ref", "sha256")
        )
    return [_prepare_file(source, each, existing_digests.get(each.ref)) for each in deliveries]


def _prepare_file(
    source: KnowledgeSource, delivery: DeliveredFile, existing_digest: str | None
) -> PreparedDelivery:
    if delivery.to_fetch:
        return PreparedDelivery(delivery=delivery, format=None)
    head = next(iter(delivery.pieces), b"")[:512]
    form = find_format(delivery.ref, delivery.mime, head)
    if existing_digest == delivery.sha256:
        return PreparedDelivery(delivery=delivery, format=form)
    if form is None:
        return PreparedDelivery(delivery=delivery, format=None, error=UNSUPPORTED_TYPE)
    if form.parser or delivery.size > _get_inline_limit(form):
        return PreparedDelivery(delivery=delivery, format=form)
    try:
        text = decode_text(b"".join(delivery.pieces))
    except NotText as error:
        return PreparedDelivery(delivery=delivery, format=form, error=str(error))
    reading = parse_text(text, form, delivery.title, delivery.ref, source.index_versions)
    return PreparedDelivery(delivery=delivery, format=form, parsed=reading)


def _get_inline_limit(form: Format) -> int:
    return MAX_INLINE_CODE_BYTES if form.shape is Shape.CODE else MAX_INLINE_BYTES


def build_chunk_settings(form: Format, versions: Sequence[str]) -> ChunkSettings:
    tokens = {version: INDEX_VERSIONS[version] for version in versions}
    return ChunkSettings(shape=form.shape, language=form.language, tokens=tokens)


def parse_text(
    text: str, form: Format, title: str, ref: str, versions: Sequence[str]
) -> ParsedText:
    """Chunk a text for each index version, in the sandbox if it is large.

    May raise CannotParse.
    """
    chunk_settings = build_chunk_settings(form, versions)
    chunks: Mapping[str, Sequence[Chunk]]
    if len(text) <= _get_inline_limit(form):
        chunks = {
            version: split_chunks(text, form.shape, tokens=tokens, language=form.language)
            for version, tokens in chunk_settings.tokens.items()
        }
    else:
        with TemporaryFile() as file:
            file.write(text.encode())
            chunks = parse_in_sandbox("text", file, chunk_settings).chunks
    title = title or extract_title(ref, text, form.shape)
    return ParsedText(text=text, format=form, title=title, chunks=chunks)
