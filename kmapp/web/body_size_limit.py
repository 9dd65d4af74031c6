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
        refusal = "" if is_api(request.path_info) else _find_refusal(request)
        if not refusal:
            return self.get_response(request)
        skip_body(request)
        return render_error(request, TooLarge(refusal))


def _find_refusal(request: WSGIRequest) -> str:
    """Return why the body is refused, or an empty string."""
    size = get_content_length(request)
    if size <= settings.DATA_UPLOAD_MAX_MEMORY_SIZE:  # avoids loading the user for most pages
        return ""
    if size > settings.UPLOAD_MAX_BYTES:
        return _("The request is too large, and nothing was saved. Send less data and try again.")
    if not request.user.is_authenticated:
        return _("You are signed out, and nothing was saved. Sign in, then send it again.")
    return ""
