"""Documents whose parsing failed: their list, and parsing one again."""

from uuid import UUID

from django.http import HttpResponse
from django.utils.translation import gettext as _

from kmapp.web.http import WebRequest, paginate
from kmapp.web.page_access import page_view
from kmapp.web.responses import redirect_with_notice, render_part
from knowledge.actions.parse_documents import retry_document
from knowledge.models import KnowledgeDocument


@page_view("GET")
def failures(request: WebRequest) -> HttpResponse:
    rows = KnowledgeDocument.objects.of(request.account_id).not_removed()
    failed = rows.filter(state=KnowledgeDocument.State.FAILED).select_related("source")
    page = paginate(request, failed.newest_first())
    return render_part(request, "knowledge/documents/failures.html", "list", {"page": page})


@page_view("POST")
def retry(request: WebRequest, pk: UUID) -> HttpResponse:
    retry_document(request.account_id, pk)
    return redirect_with_notice(
        request, _("Parsing the document again."), "knowledge:document", pk=pk
    )
