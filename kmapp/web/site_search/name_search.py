"""Search of short names that have no index of words. Inside `acting`."""

from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from kmapp.web.site_search.registry import CAP, SiteSearch

MAX_SCANNED = (
    5_000  # newest rows that are read: a trigram index is not used under row-level security
)
MAX_WORDS = 6


def find_named(search: SiteSearch, rows: "QuerySet[Any]", *columns: str) -> list[UUID]:
    """Return the ids of the newest rows with every word in one of the columns, at most `CAP`."""
    query = search.query
    ids = rows.order_by("-pk").values_list("pk", flat=True)
    if query.id:
        return list(ids.filter(pk=query.id))
    if not query.plain:
        return list(ids[:CAP])
    everything = rows.model.objects.of(search.account_id)
    oldest = everything.order_by("-pk").values("pk")[MAX_SCANNED - 1 : MAX_SCANNED]
    ids = ids.filter(pk__gte=Coalesce(Subquery(oldest), UUID(int=0)))
    for word in [*query.words.split()[:MAX_WORDS], *query.phrases]:
        condition = Q()
        for column in columns:
            condition |= Q(**{f"{column}__icontains": word})
        ids = ids.filter(condition)
    return list(ids[:CAP])
