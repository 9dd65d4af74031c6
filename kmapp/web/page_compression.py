"""Compression of pages."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

from kmapp.api.errors import is_api


class PageCompression(GZipMiddleware):
    """Compress pages, whose markup repeats itself. Of what agents ask for, latency counts.

    Django adds random bytes against BREACH. Static files are not reached: their entity tags would
    no longer match.
    """

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        return response if is_api(request.path) else super().process_response(request, response)
