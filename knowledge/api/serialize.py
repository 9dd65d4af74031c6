"""Serialization of rows for the API, as plain dicts."""

from typing import cast

from kmapp.api.typed_dict_schemas import serialize_as
from kmapp.search.variants import Variant
from kmapp.security.prompt_injection import detect_flags
from knowledge.api.response_types import (
    DocumentAnswer,
    KnowledgeCitation,
    Moved,
    QuotedAnswer,
    SnippetAnswer,
    SourceAnswer,
)
from knowledge.models import KnowledgeSource
from knowledge.retrieval.citations import CitedText, build_citation
from knowledge.retrieval.search import KnowledgeSnippet


def serialize_source(source: KnowledgeSource) -> SourceAnswer:
    """Serialize a source of a queryset `with_document_counts`."""
    return serialize_as(SourceAnswer, source, documents=source.number)


def serialize_snippet(
    snippet: KnowledgeSnippet, variant: Variant, *, explain: bool
) -> SnippetAnswer:
    first, last = snippet.chunks[0], snippet.chunks[-1]
    document = first.document
    source = document.source
    citation = build_citation(document, first.text_row, first, last, variant.versions())
    answer: SnippetAnswer = {
        "id": first.pk,
        "text": snippet.text,
        "score": snippet.score,
        "title": document.title,
        "headings": list(first.headings),
        "source": source.name,
        "kind": source.kind,
        "trust": source.trust,
        "mime": document.mime,
        "tags": ["knowledge", source.kind],
        "flags": list(detect_flags(snippet.text)),
        "embedding_status": snippet.state,
        "citations": [cast("KnowledgeCitation", citation)],
    }
    if explain:
        answer["explain"] = {"score": snippet.score, "parts": dict(snippet.parts)}
    return answer


def serialize_quoted(quoted: CitedText) -> QuotedAnswer:
    document = quoted.document
    moved: Moved = {
        "version": document.version,
        "sha": quoted.present_sha256 or None,
        "removed_at": document.removed_at,
        "still_there": quoted.still_there,
    }
    return serialize_as(
        QuotedAnswer,
        quoted,
        document=serialize_as(DocumentAnswer, document),
        source=document.source.name,
        trust=document.source.trust,
        sha=quoted.sha256,
        moved=None if quoted.current else moved,
    )
