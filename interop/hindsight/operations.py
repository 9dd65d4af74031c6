"""Operations of a bank: each retain is one, pending until its memories have their embeddings."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.models import Count, Min, QuerySet
from drf_spectacular.utils import extend_schema

from interop.hindsight.base_views import BankReport
from kmapp.errors import NotFound
from kmapp.outbox.models import Delivery, DeliveryQuerySet
from memory.actions.follow_up_jobs import EMBED
from memory.models import EntryQuerySet, MemoryVersion

RETAIN = "retain"
PENDING, FAILED, COMPLETED = "pending", "failed", "completed"
MAX_JOBS = 10_000  # unfinished embeddings of the account that one request reads


class OperationReport(BankReport):
    """Base class of reports on operations. The id of an operation is that of its commit."""

    def operations(self, entries: EntryQuerySet) -> QuerySet[Any, Any]:
        """Return commit, number of memories and time of each retain, newest first."""
        first_versions = MemoryVersion.objects.of(self.account).filter(entry__in=entries, version=1)
        groups = first_versions.values("commit_id").annotate(
            items=Count("pk"), created_at=Min("created_at")
        )
        return groups.order_by("-created_at", "-commit_id")

    def unfinished(self, commit: str = "") -> dict[str, set[UUID]]:
        """Return the commits with pending and with failed embeddings, or only this one of them."""
        deliveries = Delivery.objects.of(self.account).filter(event__topic=EMBED)
        if commit:
            deliveries = deliveries.filter(event__job_key__endswith=f":{commit}")
        return {PENDING: _commits(deliveries.open()), FAILED: _commits(deliveries.dead())}


def _commits(deliveries: DeliveryQuerySet) -> set[UUID]:
    keys = deliveries.values_list("event__job_key", flat=True)[:MAX_JOBS]  # memory:commit
    return {UUID(key.rpartition(":")[2]) for key in keys}


@extend_schema(exclude=True)
class Operations(OperationReport):
    """List the operations of a bank, newest first; `status` and `type` select some."""

    def report(self, entries: EntryQuerySet, bank: str, **parts: str) -> dict[str, Any]:
        limit, offset = self.read_page()
        query = self.request.query_params
        operations, unfinished = self.operations(entries), self.unfinished()
        if (status := query.get("status")) in unfinished:
            operations = operations.filter(commit_id__in=unfinished[str(status)])
        elif status == COMPLETED:
            operations = operations.exclude(commit_id__in=set().union(*unfinished.values()))
        if query.get("type", RETAIN) != RETAIN or status not in (None, "", COMPLETED, *unfinished):
            operations = operations.none()
        return {
            "bank_id": bank,
            "total": operations.count(),
            "limit": limit,
            "offset": offset,
            "operations": [_output(row, unfinished) for row in operations[offset : offset + limit]],
        }


@extend_schema(exclude=True)
class OneOperation(OperationReport):
    """Return the state of an operation."""

    def report(self, entries: EntryQuerySet, bank: str, **parts: str) -> dict[str, Any]:
        row = self.operations(entries).filter(commit_id=parts["operation"]).first()
        if row is None:
            raise NotFound("Operation not found.")
        output = _output(row, self.unfinished(str(parts["operation"])))
        return {**output, "operation_id": output["id"], "operation_type": RETAIN}


def _output(row: Mapping[str, Any], unfinished: Mapping[str, set[UUID]]) -> dict[str, Any]:
    pk = row["commit_id"]
    status = next((name for name, commits in unfinished.items() if pk in commits), COMPLETED)
    return {
        "id": str(pk),
        "task_type": RETAIN,
        "items_count": row["items"],
        "created_at": row["created_at"],
        "status": status,
        "error_message": "Some embeddings failed. See Operations." if status == FAILED else None,
    }
