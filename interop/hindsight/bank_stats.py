"""Numbers of a bank."""

from typing import Any

from drf_spectacular.utils import extend_schema

from interop.hindsight.operations import FAILED, PENDING, OperationReport
from memory.models import EntryQuerySet


@extend_schema(exclude=True)
class BankStats(OperationReport):
    """Return the numbers of a bank."""

    def report(self, entries: EntryQuerySet, bank: str, **parts: str) -> dict[str, Any]:
        documents = entries.filter(slots__has_key="document_id").values("slots__document_id")
        operations, unfinished = self.operations(entries), self.unfinished()
        return {
            "bank_id": bank,
            "total_nodes": (total := entries.count()),
            "total_links": 0,
            "total_documents": documents.distinct().count(),
            "nodes_by_fact_type": {"world": total},
            "links_by_link_type": {},
            "links_by_fact_type": {},
            "links_breakdown": {},
            "pending_operations": operations.filter(commit_id__in=unfinished[PENDING]).count(),
            "failed_operations": operations.filter(commit_id__in=unfinished[FAILED]).count(),
        }
