"""Limit on the body size of pages: forms for everyone, files for signed-in people only."""

from collections.abc import Callable

from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpResponse
from django.utils.translation import gettext as _

from kmapp.api.errors import is_api
from kmapp.api.middleware import declared, skip_body
from kmapp.errors import TooLarge
from kmapp.web.errors import render_error


class PageBodyLimit:
    """Middleware that refuses too large bodies without reading them. Needs `request.user`."""

    def __init__(self, get_response: Callable[[WSGIRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: WSGIRequest) -> HttpResponse:
        """Answer 413 for a too large body; otherwise call the page."""
        if is_api(request.path_info) or not _too_large(request):
            return self.get_response(request)
        skip_body(request)
        return render_error(
            request,
            TooLarge(
                _("The request is too large, and nothing was saved. Send less data and try again.")
            ),
        )


def _too_large(request: WSGIRequest) -> bool:
    size = declared(request)
    if size <= settings.DATA_UPLOAD_MAX_MEMORY_SIZE:  # avoids loading the user for most pages
        return False
    return size > settings.UPLOAD_MAX_BYTES or not request.user.is_authenticated
