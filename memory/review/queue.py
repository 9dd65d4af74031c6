"""Proposals by what they need from a reviewer. Inside `acting`."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from django.db.models import Case, Count, Exists, OuterRef, Q, Value, When
from django.db.models.functions import Coalesce

from memory.models import EntryQuerySet, MemoryEdge, MemoryEntry, Need

REPLACES = Exists(
    MemoryEdge.objects.filter(
        account_id=OuterRef("account_id"), src_id=OuterRef("pk"), type=MemoryEdge.Type.SUPERSEDES
    )
)


def needing(rows: EntryQuerySet) -> EntryQuerySet:
    """Annotate what each needs from a reviewer (`need`).

    Before its triage, this is derived from the words and edges of the proposal.
    """
    at_sight = Case(
        When(~Q(flags=[]), then=Value(Need.FLAGGED.value)),
        When(REPLACES, then=Value(Need.UPDATE.value)),
        default=Value(Need.NEW.value),
    )
    return rows.annotate(need=Coalesce("triage__need", at_sight))


def described(rows: EntryQuerySet) -> EntryQuerySet:
    """Load what the page of a proposal displays: its triage, and whether it supersedes another."""
    return rows.select_related("triage").annotate(is_update=REPLACES)


def queue(account_id: UUID, need: str = "") -> EntryQuerySet:
    """Return the proposals, oldest first."""
    rows: Any = needing(MemoryEntry.objects.of(account_id).awaiting_review())
    queued: EntryQuerySet = rows.filter(need=need) if need else rows
    return queued


def needs(account_id: UUID) -> Mapping[str, int]:
    """Return the number of proposals of each need, including zeros."""
    rows: Any = queue(account_id).order_by()
    counted = rows.values("need").annotate(number=Count("pk"))
    return dict.fromkeys(Need.values, 0) | dict(counted.values_list("need", "number"))


def younger_than(entry: MemoryEntry) -> Q:
    return Q(created_at__gt=entry.created_at) | Q(created_at=entry.created_at, pk__gt=entry.pk)
