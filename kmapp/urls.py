"""Every address, by app. API routes are declared without a last slash."""

import sys

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import include, path

from kmapp.api import errors as api
from kmapp.web import errors as web

urlpatterns = [
    path("", include("kmapp.api.urls")),
    path("", include("kmapp.web.urls")),
    path("admin/", admin.site.urls),
]


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
    if api.is_api(request.path):
        return api.server_error(request, sys.exc_info()[1])
    return web.failed(request)
