"""The rankings of an account that its searches use: the active one, and the one in shadow."""

from dataclasses import dataclass, replace
from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.caches import TtlCache
from kmapp.search.variants import AccountRanking
from memory.models import Ranking
from memory.retrieval.search import SearchRequest
from memory.retrieval.shadow_rankings import Shadow

CACHE_SECONDS = 5.0  # until other processes use a ranking that was promoted


@dataclass(frozen=True, slots=True)
class RankingsInUse:
    active: AccountRanking | None = None
    shadow: Shadow | None = None


_rankings_cache = TtlCache[RankingsInUse]()


def get_rankings_in_use(account_id: UUID) -> RankingsInUse:
    """Return the rankings of an account, which may be some seconds old."""
    cached = _rankings_cache.get(account_id)
    return cached or _rankings_cache.put(
        account_id, _load_rankings(account_id), seconds=CACHE_SECONDS
    )


def clear_rankings_cache() -> None:
    """Load the rankings again, after a change in this process."""
    _rankings_cache.clear()


def _load_rankings(account_id: UUID) -> RankingsInUse:
    with acting(account_id):
        rows = {row.status: row for row in Ranking.objects.of(account_id).in_use()}
    active, shadow = rows.get(Ranking.Status.ACTIVE), rows.get(Ranking.Status.SHADOW)
    return RankingsInUse(
        active.as_used() if active else None,
        Shadow(account_id, shadow.pk, shadow.as_used()) if shadow else None,
    )


def apply_rankings(
    account_id: UUID, request: SearchRequest, *, with_shadow: bool = True
) -> SearchRequest:
    """Return the search with the account's active ranking.

    If it is `with_shadow`, its results are also compared with those of the ranking in shadow.
    """
    in_use = get_rankings_in_use(account_id)
    variant = replace(request.variant, ranking=in_use.active)
    return replace(request, variant=variant, shadow=in_use.shadow if with_shadow else None)
