"""The list of memories with filters, text query and columns."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django.http import HttpResponse

from kmapp.providers.active import active_model
from kmapp.search.queries import Meaning
from kmapp.search.query_vector import meaning_of
from kmapp.web.after_commit import AfterCommit
from kmapp.web.http import WebRequest, paginate
from kmapp.web.page_access import page_view
from kmapp.web.responses import format_api_command, render_part
from memory.models import MemoryEntry, MemoryExport
from memory.retrieval.admin_search import MOST
from memory.retrieval.entry_list import COLUMNS, SORTS, Listing
from memory.views.saved_views import address, views_for

FIRST_MEMORY = '{"text": "The tea room opens at nine.", "user_id": "ada"}'
FIRST_FILTERS = ("status", "kind", "user_id")  # in sight; the others unfold


@page_view("GET")
def entries(request: WebRequest) -> HttpResponse | AfterCommit:
    """List memories. A text query is embedded first, outside any transaction."""
    listing = Listing.of(request.account_id, request.GET)
    if not listing.words:
        return _page(request, listing, None, ())
    return AfterCommit(partial(_render_results, request, listing), outside_transaction=True)


def _render_results(request: WebRequest, listing: Listing) -> AfterCommit:
    decisions: list[Mapping[str, Any]] = []
    meaning = meaning_of(listing.account_id, listing.words, decisions)
    return AfterCommit(partial(_page, request, listing, meaning, decisions))


def _page(
    request: WebRequest,
    listing: Listing,
    meaning: Meaning | None,
    decisions: Sequence[Mapping[str, Any]],
) -> HttpResponse:
    page = paginate(request, listing.ids(meaning))
    page.object_list = _whole(listing.account_id, list(page.object_list))
    context = {
        "listing": listing,
        "filter": listing.filter,
        "page": page,
        "words": listing.words,
        "by_words_alone": bool(listing.words) and meaning is None,
        "most": MOST if page.paginator.count >= MOST and listing.words else None,
        "sorts": SORTS.items(),
        "columns": [(name, COLUMNS[name]) for name in listing.columns],
        "all_columns": COLUMNS.items(),
        "narrowed": bool(listing.words or listing.narrowing),
        "first_filters": FIRST_FILTERS,
        "more_given": any(name not in FIRST_FILTERS for name in listing.narrowing),
        "first_command": format_api_command(request, "memory:api_store", FIRST_MEMORY),
        **_views(request, listing),
    }
    return render_part(request, "memory/entries/index.html", "list", context)


def _whole(account_id: UUID, ids: Sequence[UUID]) -> list[MemoryEntry]:
    """Those rows whole: what a row shows is read for the page only."""
    rows = MemoryEntry.objects.of(account_id).with_embedding_state(active_model().pk)
    rows_by_id = rows.in_bulk(ids)
    return [rows_by_id[pk] for pk in ids if pk in rows_by_id]


def _views(request: WebRequest, listing: Listing) -> dict[str, Any]:
    """Return the saved views, the open one, and whether the list has changed."""
    views = list(views_for(request))
    view_id = request.GET.get("view", "")
    opened = next((view for view in views if str(view.pk) == view_id), None)
    is_mine = opened is not None and (opened.owner_id == request.user.pk or request.is_admin)
    return {
        "views": [(view, address(view)) for view in views],
        "view": opened,
        "view_address": address(opened) if opened else "",
        "view_is_mine": is_mine,
        "view_differs": opened is not None and opened.query != listing.query,
        "export_forms": MemoryExport.Form.choices,
    }
