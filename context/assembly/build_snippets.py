"""Results of memory, knowledge, lore and rules as snippets with uniform citations."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from context.assembly.prompt_inputs import Snippet
from kmapp.search.variants import Variant
from knowledge.lore.lorebook_evaluation import TriggeredEntry
from knowledge.models import LorebookEntry
from knowledge.retrieval.citations import build_citation
from knowledge.retrieval.search import KnowledgeSnippet
from memory.retrieval.search import Hit
from rules.evaluation.matching import RuleDefinition


def memory_trust(flags: Sequence[str], *, pinned: bool) -> str:
    """Return the trust of a memory. A person confirmed a pinned one; a flag may mean an attack."""
    return "untrusted" if flags else "trusted" if pinned else "semi_trusted"


def memory_snippet(hit: Hit, variant: Variant) -> Snippet:
    entry = hit.entry
    return Snippet(
        source="memory",
        ref=str(entry.pk),
        text=entry.content,
        score=hit.score,
        trust=memory_trust(entry.flags, pinned=entry.pinned),
        why={"parts": dict(hit.parts), "by_meaning": hit.ready},
        citation={
            "kind": "memory_entry",
            "ref": str(entry.pk),
            "title": entry.title or None,
            "locator": {"version": entry.version, "commit_id": str(entry.commit_id)},
            "scope": {
                "account_id": str(entry.account_id),
                "user_id": entry.user_id or None,
                "conversation_id": entry.run_id or None,
            },
            "observed_at": entry.observed_at.isoformat(),
            **variant.versions(),
        },
    )


def knowledge_snippet(snippet: KnowledgeSnippet, variant: Variant) -> Snippet:
    first, last = snippet.chunks[0], snippet.chunks[-1]
    document = first.document
    citation = build_citation(document, first.text_row, first, last, variant.versions())
    return Snippet(
        source="knowledge",
        ref=str(first.pk),
        text=snippet.text,
        score=snippet.score,
        trust=document.source.trust,
        why={"parts": dict(snippet.parts), "by_meaning": snippet.ready},
        citation={**citation, "observed_at": document.observed_at.isoformat()},
        made_of=[str(chunk.pk) for chunk in snippet.chunks],
    )


def lore_snippet(row: LorebookEntry, fired: TriggeredEntry, variant: Variant) -> Snippet:
    return Snippet(
        source="lore",
        ref=str(row.pk),
        text=row.content,
        score=1.0,
        trust=row.source.trust,
        why={"reason": fired.reason, "match": fired.match or None, "round": fired.round},
        citation={
            "kind": "lorebook_entry",
            "ref": str(row.pk),
            "title": row.name,
            "locator": {"source": row.source.name, "commit_id": str(row.commit_id)},
            "scope": {"account_id": str(row.account_id)},
            **variant.versions(),
        },
    )


def rule_citation(account_id: UUID, rule: RuleDefinition, variant: Variant) -> dict[str, Any]:
    return {
        "kind": "rule",
        "ref": rule.id,
        "title": rule.name,
        "locator": {"commit_id": str(rule.commit_id)},
        "scope": {"account_id": str(account_id)},
        **variant.versions(),
    }
