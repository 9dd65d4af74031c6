"""What Django asks when no view could answer: the API speaks JSON, pages speak to people."""

import sys
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse

from kmapp.api import errors as api
from kmapp.web import errors as web


def handler400(request: HttpRequest, exception: Exception) -> HttpResponse:
    answer = api.bad_request if api.is_api(request.path) else web.bad_request
    return answer(request, exception)


def handler403(request: HttpRequest, exception: Exception) -> HttpResponse:
    answer = api.denied if api.is_api(request.path) else web.denied
    return answer(request, exception)


def handler404(request: HttpRequest, exception: Exception) -> HttpResponse:
    answer = api.not_found if api.is_api(request.path) else web.not_found
    return answer(request, exception)


def handler500(request: HttpRequest) -> HttpResponse:
    # Django asks while it handles the error, and does not pass it on.
    error = sys.exc_info()[1]
    if api.is_api(request.path):
        return api.server_error(request, error)
    found = error and api.translate(error)
    if found and found.status == HTTPStatus.SERVICE_UNAVAILABLE:
        return web.unavailable(request, found.headers)
    return web.failed(request)
