"""Numbers of a bank."""

from collections import Counter
from typing import Any

from django.db.models import Count
from drf_spectacular.utils import extend_schema

from interop.hindsight.operations import FAILED, PENDING, OperationReport
from interop.hindsight.serialize import fact_type
from memory.models import EntryQuerySet


@extend_schema(exclude=True)
class BankStats(OperationReport):
    """Return the numbers of a bank."""

    def report(self, entries: EntryQuerySet, bank: str, **parts: str) -> dict[str, Any]:
        documents = entries.filter(slots__has_key="document_id").values("slots__document_id")
        operations, unfinished = self.operations(entries), self.unfinished()
        facts = _count_fact_types(entries)
        return {
            "bank_id": bank,
            "total_nodes": facts.total(),
            "total_links": 0,
            "total_documents": documents.distinct().count(),
            "nodes_by_fact_type": dict(facts),
            "links_by_link_type": {},
            "links_by_fact_type": {},
            "links_breakdown": {},
            "pending_operations": operations.filter(commit_id__in=unfinished[PENDING]).count(),
            "failed_operations": operations.filter(commit_id__in=unfinished[FAILED]).count(),
        }


def _count_fact_types(entries: EntryQuerySet) -> Counter[str]:
    """Return the number of memories of each type that occurs."""
    kinds = entries.order_by().values_list("kind").annotate(number=Count("pk"))
    facts = Counter[str]()
    for kind, number in kinds:
        facts[fact_type(kind)] += number
    return facts
