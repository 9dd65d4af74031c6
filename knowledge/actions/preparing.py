"""Reading and cutting what a source delivers, before anything is written.

A file that must be parsed is left to a worker; one whose digest is known is not looked at.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from kmapp.accounts.acting import acting
from knowledge.chunking import Chunk, chunked
from knowledge.formats import Format, NotText, decoded, format_of, title_of
from knowledge.models import KnowledgeDocument, KnowledgeSource
from knowledge.variants import CUTS

State = KnowledgeDocument.State


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
    sha256: str = ""
    size: int = 0

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
        known = dict(
            rows.exclude(state=State.FAILED)
            .filter(ref__in=[each.ref for each in deliveries])
            .values_list("ref", "sha256")
        )
    return [_prepared(source, each, known.get(each.ref)) for each in deliveries]


def _prepared(source: KnowledgeSource, delivery: Delivery, known: str | None) -> Prepared:
    head = next(iter(delivery.pieces), b"")[:512]
    form = format_of(delivery.ref, delivery.mime, head)
    if known == delivery.sha256:
        return Prepared(delivery=delivery, format=form, unchanged=True)
    if form is None:
        return Prepared(delivery=delivery, format=None, error=UNKNOWN)
    if form.parser:
        return Prepared(delivery=delivery, format=form)
    try:
        text = decoded(b"".join(delivery.pieces))
    except NotText as error:
        return Prepared(delivery=delivery, format=form, error=str(error))
    reading = read(text, form, delivery.title, delivery.ref, source.index_versions)
    return Prepared(delivery=delivery, format=form, reading=reading)


UNKNOWN = "We do not know how to read files of this kind."


def read(text: str, form: Format, title: str, ref: str, versions: Sequence[str]) -> Reading:
    """Cut a text by every index version that its source has."""
    return Reading(
        text=text,
        format=form,
        title=title or title_of(ref, text, form.shape),
        chunks={
            version: chunked(text, form.shape, tokens=CUTS[version].tokens, language=form.language)
            for version in versions
        },
    )
