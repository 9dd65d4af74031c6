"""Parsing and chunking of a delivery before anything is written.

A file that must be parsed is left to a worker; one whose digest is known is not looked at.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from tempfile import TemporaryFile

from kmapp.accounts.acting import acting
from knowledge.chunking import Chunk, Shape, chunked
from knowledge.chunking.index_versions import CUTS
from knowledge.models import KnowledgeDocument, KnowledgeSource
from knowledge.parsing.formats import Format, NotText, decoded, format_of, title_of
from knowledge.parsing.sandbox import Cutting, read_text

State = KnowledgeDocument.State
# Bytes of a text that is read and cut where it arrives. Larger ones go to a worker, and from there
# to a process that is bound: nobody's request holds a large file, and cutting code that was made
# to be nested takes time by the square of its length.
AT_ONCE = 256 * 1024
CODE_AT_ONCE = 8 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One file, as it arrives: its bytes in pieces, so that none has to be held whole."""

    ref: str
    pieces: Iterable[bytes]  # anew each time
    title: str = ""
    mime: str = ""
    url: str = ""
    revision: str = ""
    observed_at: datetime | None = None
    sha256: str = ""  # of a page that is still to be fetched: none
    size: int = 0

    @property
    def to_fetch(self) -> bool:
        return not self.sha256

    @classmethod
    def of(cls, ref: str, data: bytes, **more: object) -> "Delivery":
        return cls(
            ref=ref,
            pieces=(data,),
            sha256=hashlib.sha256(data).hexdigest(),
            size=len(data),
            **more,  # type: ignore[arg-type]
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What a file says, and how each index version cuts it."""

    text: str
    format: Format
    title: str
    chunks: Mapping[str, Sequence[Chunk]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A file on its way in: read already; or for a worker, if `reading` is None; or hopeless."""

    delivery: Delivery
    format: Format | None
    reading: Reading | None = None
    error: str = ""
    unchanged: bool = False


def prepare(source: KnowledgeSource, deliveries: Sequence[Delivery]) -> list[Prepared]:
    """Read and cut what is new. Opens `acting` for a look at what is known."""
    with acting(source.account_id):
        rows = KnowledgeDocument.objects.of(source.account_id).present().filter(source=source)
        existing_digests = dict(
            rows.exclude(state=State.FAILED)
            .filter(ref__in=[each.ref for each in deliveries])
            .values_list("ref", "sha256")
        )
    return [_prepared(source, each, existing_digests.get(each.ref)) for each in deliveries]


def _prepared(
    source: KnowledgeSource, delivery: Delivery, existing_digests: str | None
) -> Prepared:
    if delivery.to_fetch:
        return Prepared(delivery=delivery, format=None)
    head = next(iter(delivery.pieces), b"")[:512]
    form = format_of(delivery.ref, delivery.mime, head)
    if existing_digests == delivery.sha256:
        return Prepared(delivery=delivery, format=form, unchanged=True)
    if form is None:
        return Prepared(delivery=delivery, format=None, error=UNKNOWN)
    if form.parser or delivery.size > most_at_once(form):
        return Prepared(delivery=delivery, format=form)
    try:
        text = decoded(b"".join(delivery.pieces))
    except NotText as error:
        return Prepared(delivery=delivery, format=form, error=str(error))
    reading = read(text, form, delivery.title, delivery.ref, source.index_versions)
    return Prepared(delivery=delivery, format=form, reading=reading)


UNKNOWN = "This file type is not supported."


def most_at_once(form: Format) -> int:
    return CODE_AT_ONCE if form.shape is Shape.CODE else AT_ONCE


def cutting_of(form: Format, versions: Sequence[str]) -> Cutting:
    """How texts of a format are cut by index versions."""
    tokens = {version: CUTS[version].tokens for version in versions}
    return Cutting(shape=form.shape, language=form.language, tokens=tokens)


def read(text: str, form: Format, title: str, ref: str, versions: Sequence[str]) -> Reading:
    """Cut a text by every index version that its source has. A large one may raise CannotRead."""
    cutting = cutting_of(form, versions)
    return Reading(
        text=text,
        format=form,
        title=title or title_of(ref, text, form.shape),
        chunks=_cut(text, cutting) if len(text) <= most_at_once(form) else _apart(text, cutting),
    )


def _cut(text: str, cutting: Cutting) -> dict[str, list[Chunk]]:
    return {
        version: chunked(text, cutting.shape, tokens=most, language=cutting.language)
        for version, most in cutting.tokens.items()
    }


def _apart(text: str, cutting: Cutting) -> Mapping[str, Sequence[Chunk]]:
    with TemporaryFile() as file:
        file.write(text.encode())
        return read_text("text", file, cutting).chunks
