"""Compression of pages."""

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

from kmapp.api.errors import is_api


class PageCompression(GZipMiddleware):
    """Compress pages, but not API responses, whose latency matters more than their size.

    Django adds random bytes against BREACH. Static files are served by an earlier middleware:
    compression here would invalidate their entity tags.
    """

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        return response if is_api(request.path) else super().process_response(request, response)
