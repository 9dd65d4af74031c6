"""How much a page takes: what a form holds from anybody, files from people who are signed in."""

from collections.abc import Callable

from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpResponse
from django.utils.translation import gettext as _

from kmapp.api.errors import is_api
from kmapp.api.middleware import declared, skip_body
from kmapp.errors import TooLarge
from kmapp.web.errors import refuse


class PageBodies:
    """Refuse unread what is too large. Stands where it is known who asks, and nothing was read."""

    def __init__(self, get_response: Callable[[WSGIRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: WSGIRequest) -> HttpResponse:
        """413, or whatever the page answers."""
        if is_api(request.path_info) or not _too_large(request):
            return self.get_response(request)
        skip_body(request)
        return refuse(request, TooLarge(_("That is more than is taken here. Nothing was kept.")))


def _too_large(request: WSGIRequest) -> bool:
    size = declared(request)
    if size <= settings.DATA_UPLOAD_MAX_MEMORY_SIZE:  # most pages: nobody need be looked up
        return False
    return size > settings.UPLOAD_MAX_BYTES or not request.user.is_authenticated
