"""What uses an object: the calls that cite it, and the documents that link to it."""

from uuid import UUID

from django.http import HttpResponse

from kmapp.web.http import WebRequest
from kmapp.web.object_usage import list_usages
from kmapp.web.page_access import page_view
from kmapp.web.responses import render_part

MAX_ENTRIES = 10


@page_view("GET")
def usage(request: WebRequest, pk: UUID) -> HttpResponse:
    """Render the uses of an object. Pages of objects load it; an unknown id has none."""
    usages = list_usages(request.account_id, pk, limit=MAX_ENTRIES)
    return render_part(request, "web/usage/index.html", "usages", {"usages": usages})
