"""Django's error handlers: JSON for the API, pages for people."""

import sys
from collections.abc import Callable
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse

from kmapp.api import errors as api
from kmapp.web import errors as web

Handler = Callable[[HttpRequest, Exception], HttpResponse]


def _by_path(for_api: Handler, for_page: Handler) -> Handler:
    def handle(request: HttpRequest, exception: Exception) -> HttpResponse:
        return (for_api if api.is_api(request.path) else for_page)(request, exception)

    return handle


handler400 = _by_path(api.bad_request, web.bad_request)
handler403 = _by_path(api.denied, web.denied)
handler404 = _by_path(api.not_found, web.not_found)


def handler500(request: HttpRequest) -> HttpResponse:
    # Django calls this while it handles the error and does not pass it as an argument.
    error = sys.exc_info()[1]
    if api.is_api(request.path):
        return api.server_error(request, error)
    refusal = error and api.translate(error)
    if refusal and refusal.status == HTTPStatus.SERVICE_UNAVAILABLE:
        return web.unavailable(request, refusal.headers)
    return web.server_error(request)
