"""Citations: the exact position of a text, and its resolution."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Value
from django.db.models.functions import Substr

from kmapp.database.raw_sql import fetch_all
from kmapp.errors import Gone, Invalid, NotFound
from kmapp.search.variants import Versions
from knowledge.models import ErasedKnowledge, KnowledgeChunk, KnowledgeDocument, KnowledgeText
from knowledge.retrieval.verify_chunks import load_sealed_text

KIND = "knowledge_chunk"
URI = "kmapp://knowledge/{document}#{start}-{end}@{sha}"
# Document, start, end and hash. It is part of the API schema, and JSON Schema has no named groups.
URI_PATTERN = (
    r"^kmapp://knowledge/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
    r"#([0-9]{1,9})-([0-9]{1,9})@([0-9a-f]{64})$"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedSpan:
    """A span of one version of one document."""

    document_id: UUID
    sha256: str  # of the version's text; "" for the current version
    start: int | None
    end: int | None
    line_start: int | None = None
    line_end: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CitedText:
    """The text of a place, and whether the document still contains it."""

    document: KnowledgeDocument
    version: int
    sha256: str
    start: int
    end: int
    text: str
    revision: str
    read_at: datetime
    current: bool  # whether it is from the current version
    still_there: bool  # whether the current version contains it, at any position
    present_sha256: str  # of the current version's text


def build_citation(
    document: KnowledgeDocument,
    text: KnowledgeText,
    first: KnowledgeChunk,
    last: KnowledgeChunk,
    versions: Versions,
) -> dict[str, Any]:
    """Return the citation of the span from one chunk to another. Needs `document.source`."""
    source = document.source
    return {
        "kind": KIND,
        "ref": str(document.pk),
        "title": document.title,
        "uri": URI.format(document=document.pk, start=first.start, end=last.end, sha=text.sha256),
        "locator": {
            "source": source.name,
            "source_id": str(source.pk),
            "path": document.ref,
            "url": document.url or None,
            "sha": text.sha256,
            "version": text.version,
            "revision": text.revision or None,
            "start": first.start,
            "end": last.end,
            "line_start": first.line_start,
            "line_end": last.line_end,
            "page": first.page,
            "chunk_index": first.chunk_index,
            "chunk_id": str(first.pk),
            "headings": list(first.headings),
        },
        "scope": {"account_id": str(document.account_id), "scope": source.scope or None},
        "observed_at": document.observed_at,
        "trust": source.trust,
        **versions,
    }


def parse_uri(uri: str) -> CitedSpan | None:
    """Return the span that the URI of a citation names, or None if it is no such URI."""
    match = re.fullmatch(URI_PATTERN, uri)
    if match is None:
        return None
    document, start, end, sha256 = match.groups()
    return CitedSpan(document_id=UUID(document), sha256=sha256, start=int(start), end=int(end))


def load_cited_text(account_id: UUID, span: CitedSpan) -> CitedText:
    """Return the text at a place exactly as it was cited. Inside `acting`."""
    document = (
        KnowledgeDocument.objects.of(account_id)
        .select_related("source")
        .filter(pk=span.document_id)
        .with_verify_on_read(account_id)
        .first()
    )
    if document is None:
        raise find_gone_error(account_id, span.document_id) or NotFound("Document not found.")
    rows = KnowledgeText.objects.of(account_id).filter(document=document)
    matching = rows.filter(sha256=span.sha256) if span.sha256 else rows
    row = matching.defer("text").order_by("-version").first()
    if row is None:
        raise NotFound("This document never had a text with this digest.")
    start, end = _resolve_span(rows, row, span)
    # The database cuts the span out, because the text may be long.
    spans = rows.filter(pk=row.pk).annotate(span=Substr("text", start + 1, end - start))
    text = str(spans.values_list("span", flat=True)[0])
    if document.verify_on_read:
        sealed = load_sealed_text(account_id, document, row)
        if sealed is None:
            raise NotFound(
                "This document differs from the ledger and is withheld.", code="withheld"
            )
        row, text = sealed, sealed.text[start:end]
    if len(text) < end - start:
        raise NotFound("The text ends before that part.")
    current = row.version == document.version and not document.removed_at
    present = rows.filter(version=document.version)
    containing = present.filter(text__contains=Value(text))
    return CitedText(
        document=document,
        present_sha256=next(iter(present.values_list("sha256", flat=True)), ""),
        version=row.version,
        sha256=row.sha256,
        start=start,
        end=end,
        text=text,
        revision=row.revision,
        read_at=row.created_at,
        current=current,
        still_there=current or (not document.removed_at and containing.exists()),
    )


def find_gone_error(account_id: UUID, document_id: UUID) -> Gone | None:
    """Return the error for an erased document or source, or None."""
    erased = ErasedKnowledge.objects.of(account_id).filter(pk=document_id)
    tombstone = erased.select_related("commit").first()
    if tombstone is None:
        return None
    return Gone(
        f"This was erased in commit {tombstone.commit.seq}.",
        code="erased",
        details={
            "commit_id": str(tombstone.commit_id),
            "commit_hash": tombstone.commit.commit_hash,
            "erased_at": tombstone.erased_at.isoformat(),
        },
    )


def _resolve_span(rows: Any, row: KnowledgeText, span: CitedSpan) -> tuple[int, int]:
    if span.start is not None and span.end is not None:
        start, end = span.start, span.end
    elif span.line_start is not None:
        first, last = span.line_start, span.line_end or span.line_start
        lines = rows.values_list("text", flat=True).get(pk=row.pk).split("\n")
        start = sum(len(line) + 1 for line in lines[: first - 1])
        end = start + len("\n".join(lines[first - 1 : last]))
    else:
        raise Invalid(
            "Send the range: start and end, or line_start and line_end.",
            issues=[{"path": "locator", "message": "names no part of the text"}],
        )
    if not 0 <= start < end:
        raise Invalid("The part is empty.", issues=[{"path": "locator", "message": "is empty"}])
    return start, end


_SLICES = """
SELECT coalesce(substr(t.text, s.first + 1, s.last - s.first), '')
FROM unnest(%s::uuid[], %s::int[], %s::int[]) WITH ORDINALITY AS s (id, first, last, place)
LEFT JOIN knowledge_knowledgetext t ON t.account_id = %s AND t.id = s.id ORDER BY s.place
"""


def load_slices(account_id: UUID, spans: Sequence[tuple[UUID, int, int]]) -> list[str]:
    """Return the texts of spans, in their order; "" of an erased text. Inside `acting`."""
    if not spans:
        return []
    ids, starts, ends = (list(each) for each in zip(*spans, strict=True))
    return [str(text) for (text,) in fetch_all(_SLICES, [ids, starts, ends, account_id])]
