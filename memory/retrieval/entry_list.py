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
from kmapp.search.query_vector import QueryVector
from kmapp.web import bounded_counts
from kmapp.web.filters import MAX_QUERY_LENGTH
from memory.models import EntryQuerySet, MemoryEntry
from memory.retrieval.entry_list_filters import EntryFilter
from memory.retrieval.entry_list_search import search_for_admin

DEFAULT_SORT = "-created_at"
SORTS = {
    DEFAULT_SORT: _("Newest first"),
    "created_at": _("Oldest first"),
    "-updated_at": _("Recently updated"),
    "-observed_at": _("Recently observed"),
    "-importance": _("Most important"),
    "-access_count": _("Most recalled"),
}
# Orders without an index cover the newest rows only. Each recall would update an index of them.
UNINDEXED_SORTS = frozenset({"-access_count"})
COLUMNS = {
    "status": _("Status"),
    "kind": _("Kind"),
    "whose": _("Owner"),
    "embedding": _("Embedding"),
    "observed": _("Observed"),
    "visibility": _("Visible to"),
    "agent": _("Agent"),
    "run": _("Session"),
    "tier": _("Tier"),
    "importance": _("Importance"),
    "confidence": _("Confidence"),
    "recalled": _("Recalls"),
    "created": _("Created"),
    "updated": _("Updated"),
}
DEFAULT_COLUMNS = ("status", "kind", "whose", "embedding", "observed")
LIST_PARAMETERS = frozenset({"q", "sort", "column"})
PAGE_PARAMETERS = frozenset({"page", "view"})  # parameters of the page that do not change the list


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """The filters, query, order and columns of the list."""

    account_id: UUID
    filter: EntryFilter
    words: str
    sort: str
    columns: Sequence[str]
    ignored_parameters: Sequence[str]
    query: str  # its URL query in canonical order, without ignored parameters

    @classmethod
    def from_params(cls, account_id: UUID, params: QueryDict) -> Self:
        entry_filter = EntryFilter(params, queryset=MemoryEntry.objects.of(account_id))
        recognized = entry_filter.filters.keys() | LIST_PARAMETERS | PAGE_PARAMETERS
        ignored = {*entry_filter.errors} | (set(params) - recognized)
        words = params.get("q", "").replace("\x00", "").strip()[:MAX_QUERY_LENGTH]
        sort, chosen = params.get("sort", ""), params.getlist("column")
        if sort not in SORTS:
            ignored |= {"sort"} if sort else set()
            sort = DEFAULT_SORT
        if {*chosen} - COLUMNS.keys():
            ignored.add("column")
        columns = tuple(name for name in COLUMNS if name in chosen) or DEFAULT_COLUMNS
        query_items = [(name, params[name]) for name in _list_active(entry_filter)]
        query_items += [("q", words)] if words else []
        query_items += [("sort", sort)] if sort != DEFAULT_SORT else []
        if columns != DEFAULT_COLUMNS:
            query_items += [("column", name) for name in columns]
        return cls(
            account_id=account_id,
            filter=entry_filter,
            words=words,
            sort=sort,
            columns=columns,
            ignored_parameters=sorted(ignored),
            query=urlencode(query_items),
        )

    @property
    def rows(self) -> EntryQuerySet:
        """Return the memories that match the filters."""
        return self.filter.qs  # type: ignore[no-any-return]  # the package has no types

    @property
    def selected_rows(self) -> EntryQuerySet:
        """Return the filtered rows; refuse an unfiltered list, text queries and unknown filters."""
        if not self.active_filters or self.ignored_parameters or self.words:
            raise Invalid(
                gettext(
                    "No memories are selected. Filter the list first, then continue from there."
                )
            )
        return self.rows

    @property
    def active_filters(self) -> Sequence[str]:
        return _list_active(self.filter)

    def ids(self, meaning: QueryVector | None = None) -> Any:
        """Return all listed ids in order: matches of the query, best first, or all rows."""
        if self.words:
            return search_for_admin(self.account_id, self.words, self.rows, meaning)
        # Ids in the same direction as the sort, so that one index serves both.
        id_order = "-pk" if self.sort.startswith("-") else "pk"
        return self.rows.order_by(self.sort, id_order).values_list("pk", flat=True)

    @property
    def covers_newest_only(self) -> bool:
        """Return whether pages show the newest rows only, in their order."""
        return self.sort in UNINDEXED_SORTS and not self.words

    def page_ids(self, meaning: QueryVector | None = None) -> Any:
        """Return the ids for pages: all, or those of the newest rows if the sort has no index."""
        if not self.covers_newest_only:
            return self.ids(meaning)
        newest = self.rows.order_by("-created_at", "-pk").values("pk")[: bounded_counts.MAX_FIGURE]
        rows = MemoryEntry.objects.of(self.account_id).filter(pk__in=newest)
        return rows.order_by(self.sort, "-pk").values_list("pk", flat=True)


def _list_active(entry_filter: EntryFilter) -> list[str]:
    """Return the names of filters that narrow the rows; spaces alone do not."""
    values = entry_filter.form.cleaned_data
    return [name for name in entry_filter.filters if values.get(name)]
