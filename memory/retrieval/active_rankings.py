"""The rankings of an account that its searches use: the active one, and the one in shadow."""

from dataclasses import replace
from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.runtime.in_process_caches import TtlCache
from kmapp.search.variants import AccountRanking
from memory.models import Ranking
from memory.retrieval.search import SearchRequest
from memory.retrieval.shadow_rankings import Shadow

CACHE_SECONDS = 5.0  # until other processes use a ranking that was promoted
Status = Ranking.Status
RankingsInUse = tuple[AccountRanking | None, Shadow | None]  # the active one, and that in shadow

_rankings_cache = TtlCache[RankingsInUse]()


def clear_rankings_cache() -> None:
    """Load the rankings again, after a change in this process."""
    _rankings_cache.clear()


def _load_rankings(account_id: UUID) -> RankingsInUse:
    with acting(account_id):
        used = Ranking.objects.of(account_id).filter(status__in=[Status.ACTIVE, Status.SHADOW])
        rows = {row.status: row for row in used}
    active, shadow = rows.get(Status.ACTIVE), rows.get(Status.SHADOW)
    return (
        active.to_account_ranking() if active else None,
        Shadow(account_id, shadow.pk, shadow.to_account_ranking()) if shadow else None,
    )


def apply_rankings(
    account_id: UUID, request: SearchRequest, *, with_shadow: bool = True
) -> SearchRequest:
    """Return the search with the account's active ranking, which may be some seconds old.

    With `with_shadow`, its results are also compared with those of the ranking in shadow.
    """
    active, shadow = _rankings_cache.get(account_id) or _rankings_cache.put(
        account_id, _load_rankings(account_id), seconds=CACHE_SECONDS
    )
    variant = replace(request.variant, ranking=active)
    return replace(request, variant=variant, shadow=shadow if with_shadow else None)
