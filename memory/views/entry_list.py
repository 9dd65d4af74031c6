"""The list of memories with its filters, text query and columns, and its export to a file."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any
from uuid import UUID

from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.accounts.permissions import Permission
from kmapp.errors import Invalid
from kmapp.providers.active_models import active_model
from kmapp.search.query_vector import QueryVector, load_query_vector
from kmapp.web import bounded_counts
from kmapp.web.after_commit import AfterCommit
from kmapp.web.bounded_pages import paginate_bounded
from kmapp.web.filters import MAX_QUERY_LENGTH
from kmapp.web.http import WebRequest
from kmapp.web.page_access import page_view
from kmapp.web.responses import format_api_command, render_part
from memory.actions.record_export import record_export
from memory.models import MemoryEntry, MemoryExport
from memory.retrieval.entry_list import COLUMNS, SORTS, Listing
from memory.retrieval.entry_list_search import MAX_RESULTS
from memory.transfer import csv_export
from memory.transfer.export import export_entries, read_pages
from memory.views.saved_views import view_url, visible_views

Form = MemoryExport.Form
CONTENT_TYPES = {Form.CSV: "text/csv; charset=utf-8", Form.NDJSON: "application/x-ndjson"}
FIRST_MEMORY = '{"text": "The tea room opens at nine.", "user_id": "ada"}'
# Columns that the page does not display and that can take megabytes in each row.
UNLISTED_COLUMNS = ("slots", "sources", "entities", "raw_ref", "evidence_ref")


@page_view("GET")
def entries(request: WebRequest) -> HttpResponseBase | AfterCommit:
    listing = Listing.from_params(request.account_id, request.GET)
    return respond_with_query_vector(listing, partial(_render_list, request, listing))


def respond_with_query_vector(
    listing: Listing, respond: Callable[[QueryVector | None], HttpResponseBase]
) -> HttpResponseBase | AfterCommit:
    """Respond with the vector of the text query, which is computed outside any transaction."""

    def embed() -> AfterCommit:
        return AfterCommit(
            partial(respond, load_query_vector(listing.account_id, listing.words, []))
        )

    return AfterCommit(embed, outside_transaction=True) if listing.words else respond(None)


def _render_list(
    request: WebRequest, listing: Listing, meaning: QueryVector | None
) -> HttpResponse:
    page = paginate_bounded(request, listing.page_ids(meaning))
    page.object_list = _load_rows(listing.account_id, list(page.object_list))
    context = {
        "listing": listing,
        "filter": listing.filter,
        "page": page,
        "words": listing.words,
        "max_length": MAX_QUERY_LENGTH,
        "by_words_alone": bool(listing.words) and meaning is None,
        "newest": bounded_counts.MAX_FIGURE if listing.covers_newest_only else None,
        "most": MAX_RESULTS if page.paginator.count >= MAX_RESULTS and listing.words else None,
        "sorts": SORTS.items(),
        "columns": [(name, COLUMNS[name]) for name in listing.columns],
        "all_columns": COLUMNS.items(),
        "narrowed": bool(listing.words or listing.active_filters),
        "first_command": format_api_command(request, "memory:api_store", FIRST_MEMORY),
        **_load_saved_views(request, listing),
    }
    return render_part(request, "memory/entries/index.html", "list", context)


def _load_rows(account_id: UUID, ids: Sequence[UUID]) -> list[MemoryEntry]:
    """Return these memories in order, with the columns of the page."""
    rows = MemoryEntry.objects.of(account_id).with_embedding_state(active_model().pk)
    rows_by_id = rows.defer(*UNLISTED_COLUMNS).in_bulk(ids)
    return [rows_by_id[pk] for pk in ids if pk in rows_by_id]


def _load_saved_views(request: WebRequest, listing: Listing) -> dict[str, Any]:
    """Return the saved views, the open one, and whether the list differs from it."""
    views = list(visible_views(request))
    view_id = request.GET.get("view", "")
    opened = next((view for view in views if str(view.pk) == view_id), None)
    is_mine = opened is not None and (
        opened.owner_id == request.user.pk or Permission.SETTINGS in request.permissions
    )
    return {
        "views": [(view, view_url(view)) for view in views],
        "view": opened,
        "view_address": view_url(opened) if opened else "",
        "view_is_mine": is_mine,
        "view_differs": opened is not None and opened.query != listing.query,
        "export_forms": Form.choices,
    }


@page_view("POST")
def export(request: WebRequest) -> HttpResponseBase | AfterCommit:
    listing = Listing.from_params(request.account_id, request.GET)
    if listing.ignored_parameters:
        raise Invalid(
            _("The URL has unknown parameters, so nothing was exported: %(names)s")
            % {"names": ", ".join(listing.ignored_parameters)}
        )
    if request.POST.get("form") not in Form.values:
        raise Invalid(_("Choose a format: CSV or NDJSON."))
    return respond_with_query_vector(
        listing, partial(_stream_file, request, listing, Form(request.POST["form"]))
    )


def _stream_file(
    request: WebRequest, listing: Listing, form: Form, meaning: QueryVector | None
) -> StreamingHttpResponse:
    """Return the file of the listed memories. Each page of them is read when it is sent."""
    ids = list(listing.ids(meaning))
    record_export(
        listing.account_id, request.actor, form=form, query=listing.query, number=len(ids)
    )
    content = (
        _iterate_csv(listing.account_id, ids)
        if form == Form.CSV
        else export_entries(listing.account_id, ids)
    )
    answer = StreamingHttpResponse(content, content_type=CONTENT_TYPES[form])
    day = timezone.localdate().isoformat()
    answer.headers["Content-Disposition"] = f'attachment; filename="memories-{day}.{form.value}"'
    return answer


def _iterate_csv(account_id: UUID, ids: Sequence[UUID]) -> Iterator[bytes]:
    yield csv_export.format_header()
    yield from map(csv_export.format_rows, read_pages(account_id, ids))
