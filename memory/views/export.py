"""Export of the list to a file, streamed and recorded."""

from collections.abc import Iterator, Sequence
from functools import partial
from uuid import UUID

from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils import timezone
from django.utils.translation import gettext as _

from kmapp.accounts.acting import acting
from kmapp.errors import Invalid
from kmapp.search.queries import Meaning
from kmapp.web.after_commit import AfterCommit
from kmapp.web.http import WebRequest
from kmapp.web.page_access import page_view
from memory.actions.exports import record_export
from memory.models import MemoryEntry, MemoryExport
from memory.retrieval.entry_list import Listing
from memory.transfer import spreadsheet
from memory.transfer.export import PAGE, export_these
from memory.views.entry_list import embed_query

Form = MemoryExport.Form
TYPES = {Form.CSV: "text/csv; charset=utf-8", Form.NDJSON: "application/x-ndjson"}


@page_view("POST")
def export(request: WebRequest) -> HttpResponseBase | AfterCommit:
    """Export the filtered memories in the requested format."""
    listing = Listing.of(request.account_id, request.GET)
    if listing.left_out:
        raise Invalid(
            _("The URL has unknown parameters, so nothing was exported: %(names)s")
            % {"names": ", ".join(listing.left_out)}
        )
    if request.POST.get("form") not in Form.values:
        raise Invalid(_("Choose a format: CSV or NDJSON."))
    return embed_query(listing, partial(_stream_file, request, listing, Form(request.POST["form"])))


def _stream_file(
    request: WebRequest, listing: Listing, form: Form, meaning: Meaning | None
) -> StreamingHttpResponse:
    """Return the file of the listed memories. Each page of them is read when it is sent."""
    ids = list(listing.ids(meaning))
    record_export(
        listing.account_id, request.actor, form=form, query=listing.query, number=len(ids)
    )
    content = (
        _iterate_csv(listing.account_id, ids)
        if form == Form.CSV
        else export_these(listing.account_id, ids)
    )
    answer = StreamingHttpResponse(content, content_type=TYPES[form])
    day = timezone.localdate().isoformat()
    answer.headers["Content-Disposition"] = f'attachment; filename="memories-{day}.{form.value}"'
    return answer


def _iterate_csv(account_id: UUID, ids: Sequence[UUID]) -> Iterator[bytes]:
    yield spreadsheet.head()
    for start in range(0, len(ids), PAGE):
        page = ids[start : start + PAGE]
        with acting(account_id):
            rows = MemoryEntry.objects.of(account_id).in_bulk(page)
        yield spreadsheet.lines(rows[pk] for pk in page if pk in rows)
