"""Texts of what calls cited, to show instead of ids."""

from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from django.db.models.functions import Left

from knowledge.models import KnowledgeDocument
from memory.models import MemoryEntry

LENGTH = 120  # characters of a memory


def load_cited_texts(account_id: UUID, citations: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the start of each cited memory and the title of each cited document, by reference.

    Erased objects, and those of another kmapp, are left out. Two queries. Inside `acting`.
    """
    here = [citation for citation in citations if "remote" not in citation]
    memories = {UUID(each["ref"]) for each in here if each["source"] == "memory"}
    documents = {UUID(each["ref"]) for each in here if each["source"] == "knowledge"}
    entries = MemoryEntry.objects.of(account_id).filter(pk__in=memories)
    texts = {str(pk): text for pk, text in entries.values_list("pk", Left("content", LENGTH))}
    named = KnowledgeDocument.objects.of(account_id).filter(pk__in=documents)
    return texts | {
        str(pk): title or ref for pk, title, ref in named.values_list("pk", "title", "ref")
    }
