"""The list of memories: filters, text query and columns from the URL.

Unknown parameters of a URL, which may be old or typed by hand, are ignored and reported.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlencode
from uuid import UUID

from django.http import QueryDict
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from kmapp.errors import Invalid
from kmapp.search.queries import Meaning
from memory.models import EntryQuerySet, MemoryEntry
from memory.retrieval.admin_search import search_for_admin
from memory.retrieval.entry_filters import EntryFilter

WORDS = 1_000  # characters of a query
NEWEST = "-created_at"
SORTS = {
    NEWEST: _("Newest first"),
    "created_at": _("Oldest first"),
    "-updated_at": _("Recently updated"),
    "-observed_at": _("Recently observed"),
    "-importance": _("Most important"),
    "-access_count": _("Most recalled"),
}
COLUMNS = {
    "status": _("Status"),
    "kind": _("Kind"),
    "whose": _("Owner"),
    "embedding": _("Meaning"),
    "observed": _("Observed"),
    "visibility": _("Visible to"),
    "agent": _("Agent"),
    "run": _("Run"),
    "tier": _("Tier"),
    "importance": _("Importance"),
    "confidence": _("Confidence"),
    "recalled": _("Recalls"),
    "created": _("Created"),
    "updated": _("Updated"),
}
USUAL = ("status", "kind", "whose", "embedding", "observed")
OWN = frozenset({"q", "sort", "column"})
ELSEWHERE = frozenset({"page", "view"})  # parameters of the page that do not change the list


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The filters, query, order and columns of the list."""

    account_id: UUID
    filter: EntryFilter
    words: str
    sort: str
    columns: Sequence[str]
    left_out: Sequence[str]
    query: str  # its URL query in canonical order, without ignored parameters

    @classmethod
    def of(cls, account_id: UUID, params: QueryDict) -> Self:
        narrowed = EntryFilter(params, queryset=MemoryEntry.objects.of(account_id))
        wrong = {*narrowed.errors}
        recognized = narrowed.filters.keys() | OWN | ELSEWHERE
        columns = [name for name in COLUMNS if name in params.getlist("column")]
        words = params.get("q", "").replace("\x00", "").strip()[:WORDS]
        sort = params.get("sort", "")
        if sort not in SORTS:
            wrong |= {"sort"} if sort else set()
            sort = NEWEST
        if {*params.getlist("column")} - COLUMNS.keys():
            wrong.add("column")
        query_items = [
            (name, params[name])
            for name in narrowed.filters
            if name not in wrong and params.get(name)
        ]
        query_items += [("q", words)] if words else []
        query_items += [("sort", sort)] if sort != NEWEST else []
        visible_columns = columns or USUAL
        query_items += (
            [("column", name) for name in visible_columns]
            if tuple(visible_columns) != USUAL
            else []
        )
        return cls(
            account_id=account_id,
            filter=narrowed,
            words=words,
            sort=sort,
            columns=visible_columns,
            left_out=sorted(wrong | {name for name in params if name not in recognized}),
            query=urlencode(query_items),
        )

    @property
    def rows(self) -> EntryQuerySet:
        """Return the memories that match the filters."""
        return self.filter.qs  # type: ignore[no-any-return]  # the package has no types

    @property
    def chosen(self) -> EntryQuerySet:
        """Return the filtered rows; refuse an unfiltered list, text queries and unknown filters."""
        if not self.narrowing or self.left_out or self.words:
            raise Invalid(
                gettext(
                    "No memories are selected. Filter the list first, then continue from there."
                )
            )
        return self.rows

    @property
    def narrowing(self) -> Sequence[str]:
        return [name for name in self.filter.filters if self.filter.data.get(name)]

    def ids(self, meaning: Meaning | None = None) -> Any:
        """Return all listed ids in order: matches of the query, best first, or all rows."""
        if self.words:
            return search_for_admin(self.account_id, self.words, self.rows, meaning)
        # Ids in the same direction as the sort, so that one index serves both.
        tie = "-pk" if self.sort.startswith("-") else "pk"
        return self.rows.order_by(self.sort, tie).values_list("pk", flat=True)
