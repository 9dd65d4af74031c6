"""Quotas of API keys: memories per day, and proposals that wait for review.

They keep one agent from flooding the memories of others and the review queue.
"""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from uuid import UUID

from django.db.models import Count
from django.utils import timezone

from kmapp.accounts.actors import Actor
from kmapp.errors import Conflict, OverBudget
from kmapp.runtime.in_process_caches import TtlCache
from memory.models import EntryQuerySet, MemoryEntry, MemorySettings

Status = MemoryEntry.Status
DAY = timedelta(days=1)
TOO_MANY = "too_many_proposals"
HOUR = 3600  # seconds until a retry can succeed, since the quota is of the last 24 hours
EXACT_FROM = 0.9  # share of the limit from which each write counts the rows again
CACHE_SECONDS = 60

_cached_counts: TtlCache[list[int]] = TtlCache()


def enforce_quotas(
    settings: MemorySettings, actor: Actor, new_entries: Sequence[MemoryEntry]
) -> None:
    """Raise an error if a key would exceed a quota. Call this before the insert, in `acting`."""
    if actor.kind != "key" or not new_entries:
        return
    _refuse_writes(settings, actor, len(new_entries))
    _refuse_proposals(settings, actor, sum(each.status == Status.PROPOSED for each in new_entries))


def _refuse_writes(settings: MemorySettings, actor: Actor, number: int) -> None:
    limit, key = settings.daily_write_limit, (settings.account_id, str(actor))
    cached_count = _cached_counts.get(key)
    if cached_count is None or cached_count[0] + number > EXACT_FROM * limit:
        rows = _written_today(settings.account_id).filter(created_by=str(actor))
        cached_count = _cached_counts.put(key, [rows.count()], seconds=CACHE_SECONDS)
    if cached_count[0] + number > limit:
        raise OverBudget(
            f"This key has written {cached_count[0]} memories today; its daily limit is {limit}. "
            "Write fewer memories, or ask an admin to raise the limit under Settings → Policy.",
            code="daily_quota",
            retry_after=HOUR,
            details={"limit": limit, "written": cached_count[0]},
        )
    cached_count[0] += number


def _refuse_proposals(settings: MemorySettings, actor: Actor, number: int) -> None:
    if not number:
        return
    limit = settings.open_proposal_limit
    proposals = MemoryEntry.objects.of(settings.account_id).awaiting_review()
    waiting = proposals.filter(created_by=str(actor)).count()
    if waiting + number > limit:
        raise Conflict(
            f"This key has {waiting} pending proposals; its limit is {limit}. Wait until some are "
            "reviewed, write memories that do not need review, or ask an admin to raise the "
            "limit under Settings → Policy.",
            code=TOO_MANY,
            details={"limit": limit, "waiting": waiting},
        )


def _written_today(account_id: UUID) -> EntryQuerySet:
    return MemoryEntry.objects.of(account_id).filter(created_at__gte=timezone.now() - DAY)


def list_quota_usage(account_id: UUID, keys: Sequence[UUID]) -> Mapping[UUID, tuple[int, int]]:
    """Return the memories of today and the open proposals of each key. Two queries in `acting`."""
    names = {str(Actor("key", pk)): pk for pk in keys}
    written, waiting = (
        dict(
            rows.filter(created_by__in=names)
            .order_by()
            .values_list("created_by")
            .annotate(number=Count("pk"))
        )
        for rows in (
            _written_today(account_id),
            MemoryEntry.objects.of(account_id).awaiting_review(),
        )
    )
    return {pk: (written.get(name, 0), waiting.get(name, 0)) for name, pk in names.items()}
