"""Proposals by what they need from a reviewer. Inside `acting`."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.models import Case, Count, Exists, OuterRef, Q, Value, When
from django.db.models.functions import Coalesce

from memory.models import EntryQuerySet, MemoryEdge, MemoryEntry, Need

REPLACES_ANOTHER = Exists(
    MemoryEdge.objects.filter(
        account_id=OuterRef("account_id"), src_id=OuterRef("pk"), type=MemoryEdge.Type.SUPERSEDES
    )
)


def annotate_need(rows: EntryQuerySet) -> EntryQuerySet:
    """Annotate what each needs from a reviewer (`need`).

    Before its triage, this is derived from the words and edges of the proposal.
    """
    need_before_triage = Case(
        When(~Q(flags=[]), then=Value(Need.FLAGGED.value)),
        When(REPLACES_ANOTHER, then=Value(Need.UPDATE.value)),
        default=Value(Need.NEW.value),
    )
    return rows.annotate(need=Coalesce("triage__need", need_before_triage))


def with_review_details(rows: EntryQuerySet) -> EntryQuerySet:
    """Load what the page of a proposal displays: its triage, and whether it supersedes another."""
    return rows.select_related("triage").annotate(is_update=REPLACES_ANOTHER)


def list_proposals(account_id: UUID, need: str = "") -> EntryQuerySet:
    """Return the proposals, oldest first."""
    rows: Any = annotate_need(MemoryEntry.objects.of(account_id).awaiting_review())
    proposals: EntryQuerySet = rows.filter(need=need) if need else rows
    return proposals


def count_needs(account_id: UUID) -> Mapping[str, int]:
    """Return the number of proposals of each need, including zeros."""
    rows: Any = list_proposals(account_id).order_by()
    counts = rows.values("need").annotate(number=Count("pk"))
    return dict.fromkeys(Need.values, 0) | dict(counts.values_list("need", "number"))


def build_newer_condition(entry: MemoryEntry) -> Q:
    return Q(created_at__gt=entry.created_at) | Q(created_at=entry.created_at, pk__gt=entry.pk)
