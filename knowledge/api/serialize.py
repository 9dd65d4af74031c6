"""Serialization of rows for the API, as plain dicts."""

from typing import cast

from kmapp.prompt_injection import detect_flags
from kmapp.search.variants import Variant
from knowledge.api.response_types import (
    DocumentAnswer,
    KnowledgeCitation,
    QuotedAnswer,
    SnippetAnswer,
    SourceAnswer,
)
from knowledge.models import KnowledgeDocument, KnowledgeSource
from knowledge.retrieval.citations import Quoted, citation_of
from knowledge.retrieval.search import Snippet


def source_output(source: KnowledgeSource) -> SourceAnswer:
    """Serialize a source from a `counted` queryset."""
    return {
        "id": source.pk,
        "name": source.name,
        "kind": source.kind,
        "trust": source.trust,
        "scope": source.scope or None,
        "ref": source.ref or None,
        "revision": source.revision or None,
        "index_versions": source.index_versions,
        "documents": source.number,
        "waiting": source.waiting,
        "failed": source.failed,
        "refreshed_at": source.refreshed_at,
        "created_at": source.created_at,
        "updated_at": source.updated_at,
    }


def document_output(document: KnowledgeDocument) -> DocumentAnswer:
    return {
        "id": document.pk,
        "source_id": document.source_id,
        "ref": document.ref,
        "title": document.title,
        "mime": document.mime,
        "url": document.url or None,
        "sha256": document.sha256,
        "size": document.size,
        "version": document.version,
        "revision": document.revision or None,
        "state": document.state,
        "error": document.error or None,
        "observed_at": document.observed_at,
        "removed_at": document.removed_at,
        "updated_at": document.updated_at,
        "commit_id": document.commit_id,
    }


def snippet_output(snippet: Snippet, variant: Variant, *, explain: bool) -> SnippetAnswer:
    first, last = snippet.chunks[0], snippet.chunks[-1]
    document = first.document
    source = document.source
    citation = citation_of(document, first.text_row, first, last, variant.versions())
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


def quoted_output(quoted: Quoted) -> QuotedAnswer:
    document = quoted.document
    return {
        "text": quoted.text,
        "document": document_output(document),
        "source": document.source.name,
        "trust": document.source.trust,
        "sha": quoted.sha256,
        "version": quoted.version,
        "revision": quoted.revision or None,
        "start": quoted.start,
        "end": quoted.end,
        "read_at": quoted.read_at,
        "current": quoted.current,
        "moved": None
        if quoted.current
        else {
            "version": document.version,
            "sha": quoted.present_sha256 or None,
            "removed_at": document.removed_at,
            "still_there": quoted.still_there,
        },
    }
