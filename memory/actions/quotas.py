"""How much one key may write: memories within a day, and proposals that wait for a person.

A flood from one agent, meant or not, must neither bury the others' memories nor the reviewers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.db.models import Count
from django.utils import timezone

from kmapp.accounts.actors import Actor
from kmapp.errors import Conflict, OverBudget
from kmapp.search.ttl_cache import Memo
from memory.models import EntryQuerySet, MemoryEntry, MemorySettings

Status = MemoryEntry.Status
DAY = timedelta(days=1)
TOO_MANY = "too_many_proposals"
HOUR = 3600  # seconds until asking again makes sense: a day's writes leave it hour by hour
EXACT_FROM = 0.9  # of the limit: from here on each write counts exactly
REMEMBERED_SECONDS = 60

_written: Memo[list[int]] = Memo()


def enforce_quotas(
    settings: MemorySettings, actor: Actor, new_entries: Sequence[MemoryEntry]
) -> None:
    """Refuse what a key would write too much. Before it is inserted, inside `acting`."""
    if actor.kind != "key" or not new_entries:
        return
    _refuse_writes(settings, actor, len(new_entries))
    _refuse_proposals(settings, actor, sum(each.status == Status.PROPOSED for each in new_entries))


def _refuse_writes(settings: MemorySettings, actor: Actor, number: int) -> None:
    limit, key = settings.daily_write_limit, (settings.account_id, str(actor))
    cached_count = _written.get(key)
    if cached_count is None or cached_count[0] + number > EXACT_FROM * limit:
        rows = _today(settings.account_id).filter(created_by=str(actor))
        cached_count = _written.put(key, [rows.count()], seconds=REMEMBERED_SECONDS)
    if cached_count[0] + number > limit:
        raise OverBudget(
            f"This key has written {cached_count[0]} memories today; its daily limit is {limit}. "
            "Write fewer memories, or ask an admin to raise the limit under Memory → Policy.",
            code="daily_quota",
            retry_after=HOUR,
            details={"limit": limit, "written": cached_count[0]},
        )
    cached_count[0] += number


def _refuse_proposals(settings: MemorySettings, actor: Actor, number: int) -> None:
    if not number:
        return
    limit = settings.open_proposal_limit
    waiting = _waiting(settings.account_id).filter(created_by=str(actor)).count()
    if waiting + number > limit:
        raise Conflict(
            f"This key has {waiting} pending proposals; its limit is {limit}. Wait until some are "
            "reviewed, write memories that do not need review, or ask an admin to raise the "
            "limit under Memory → Policy.",
            code=TOO_MANY,
            details={"limit": limit, "waiting": waiting},
        )


def _today(account_id: UUID) -> EntryQuerySet:
    return MemoryEntry.objects.of(account_id).filter(created_at__gte=timezone.now() - DAY)


def _waiting(account_id: UUID) -> EntryQuerySet:
    return MemoryEntry.objects.of(account_id).filter(status=Status.PROPOSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuotaUsage:
    """What one key has used of its quotas."""

    written: int
    open_proposals: int


def list_quota_usage(account_id: UUID, keys: Sequence[UUID]) -> Mapping[UUID, QuotaUsage]:
    """Of each of these keys. Two queries, inside `acting`."""
    names = {str(Actor("key", pk)): pk for pk in keys}
    written, waiting = (
        dict(
            rows.filter(created_by__in=names)
            .order_by()
            .values_list("created_by")
            .annotate(number=Count("pk"))
        )
        for rows in (_today(account_id), _waiting(account_id))
    )
    return {
        pk: QuotaUsage(written=written.get(name, 0), open_proposals=waiting.get(name, 0))
        for name, pk in names.items()
    }
