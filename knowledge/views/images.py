"""Images in the texts of documents."""

from django.http import HttpResponse
from django.shortcuts import get_object_or_404

from kmapp.web.http import WebRequest
from kmapp.web.page_access import page_view
from knowledge.models import KnowledgeImage


@page_view("GET")
def image(request: WebRequest, digest: str) -> HttpResponse:
    """Return an image. Its type was detected by its content, and it cannot run anything."""
    row = get_object_or_404(KnowledgeImage.objects.of(request.account_id), sha256=digest)
    answer = HttpResponse(bytes(row.data), content_type=row.mime)
    answer.headers["Content-Security-Policy"] = "default-src 'none'; sandbox"
    answer.headers["X-Content-Type-Options"] = "nosniff"
    answer.headers["Cache-Control"] = "private, max-age=31536000, immutable"
    return answer
