"""Limit on the body size of pages: forms for everyone, files for signed-in people only."""

from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpResponse
from django.utils.translation import gettext as _

from kmapp.api.errors import is_api
from kmapp.api.middleware import Middleware, get_content_length, skip_body
from kmapp.errors import TooLarge
from kmapp.web.error_views import render_error


class PageBodyLimit(Middleware):
    """Middleware that refuses too large bodies without reading them. Needs `request.user`."""

    def __call__(self, request: WSGIRequest) -> HttpResponse:
        if is_api(request.path_info) or not _render_too_large(request):
            return self.get_response(request)
        skip_body(request)
        return render_error(
            request,
            TooLarge(
                _("The request is too large, and nothing was saved. Send less data and try again.")
            ),
        )


def _render_too_large(request: WSGIRequest) -> bool:
    size = get_content_length(request)
    if size <= settings.DATA_UPLOAD_MAX_MEMORY_SIZE:  # avoids loading the user for most pages
        return False
    return size > settings.UPLOAD_MAX_BYTES or not request.user.is_authenticated
