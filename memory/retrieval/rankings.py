"""The rankings of an account that its searches use: the active one, and the one in shadow."""

from dataclasses import dataclass, replace
from uuid import UUID

from kmapp.accounts.acting import acting
from kmapp.search.ttl_cache import Memo
from kmapp.search.variants import AccountRanking
from memory.models import Ranking
from memory.retrieval.search import Search
from memory.retrieval.shadow_rankings import Shadow

SECONDS = 5.0  # until other processes use a ranking that was promoted


@dataclass(frozen=True, slots=True)
class InUse:
    active: AccountRanking | None = None
    shadow: Shadow | None = None


_in_use = Memo[InUse]()


def rankings_in_use(account_id: UUID) -> InUse:
    """Return the rankings of an account, which may be some seconds old."""
    cached = _in_use.get(account_id)
    return cached or _in_use.put(account_id, _load(account_id), seconds=SECONDS)


def forget_rankings() -> None:
    """Load the rankings again, after a change in this process."""
    _in_use.forget()


def _load(account_id: UUID) -> InUse:
    with acting(account_id):
        rows = {row.status: row for row in Ranking.objects.of(account_id).in_use()}
    active, shadow = rows.get(Ranking.Status.ACTIVE), rows.get(Ranking.Status.SHADOW)
    return InUse(
        active.as_used() if active else None,
        Shadow(account_id, shadow.pk, shadow.as_used()) if shadow else None,
    )


def with_rankings(account_id: UUID, request: Search, *, watched: bool = True) -> Search:
    """Return the search with the account's active ranking.

    If it is `watched`, its results are also compared with those of the ranking in shadow.
    """
    in_use = rankings_in_use(account_id)
    variant = replace(request.variant, ranking=in_use.active)
    return replace(request, variant=variant, shadow=in_use.shadow if watched else None)
