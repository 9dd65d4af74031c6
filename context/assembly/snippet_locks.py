"""Locks on the sources of retrieved texts."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from uuid import UUID

from django.db.models import Model

from context.assembly.prompt_inputs import Snippet
from kmapp.database.erasure_locks import lock_for_copy
from knowledge.models import KnowledgeChunk, LorebookEntry
from memory.models import MemoryEntry

SOURCE_MODELS: Mapping[str, type[Model]] = {
    "memory": MemoryEntry,
    "knowledge": KnowledgeChunk,
    "lore": LorebookEntry,
}


def lock_snippets(account_id: UUID, snippets: Sequence[Snippet]) -> list[Snippet]:
    """Return the snippets whose sources exist, and lock these until the transaction ends.

    Those of another kmapp have no rows here. Inside `acting`.
    """
    sources = defaultdict[type[Model], set[UUID]](set)
    ids = {
        index: {UUID(ref) for ref in snippet.made_of or [snippet.ref]}
        for index, snippet in enumerate(snippets)
        if "remote" not in snippet.citation
    }
    for index, refs in ids.items():
        sources[SOURCE_MODELS[snippets[index].source]] |= refs
    existing = lock_for_copy(account_id, sources)
    return [each for index, each in enumerate(snippets) if ids.get(index, set()) <= existing]
