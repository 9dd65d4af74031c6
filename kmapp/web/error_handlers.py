"""Django's error handlers: JSON for the API, pages for people."""

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
    # Django calls this while it handles the error and does not pass it as an argument.
    error = sys.exc_info()[1]
    if api.is_api(request.path):
        return api.server_error(request, error)
    refusal = error and api.translate(error)
    if refusal and refusal.status == HTTPStatus.SERVICE_UNAVAILABLE:
        return web.unavailable(request, refusal.headers)
    return web.server_error(request)
