"""Middleware that kills the web process after the commit and before the response."""

import os
import signal
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

CRASH_HEADER = "X-Chaos-Cut"


class CrashMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Kill this process before the response if the request has the header."""
        response = self.get_response(request)
        if CRASH_HEADER in request.headers:
            os.kill(os.getpid(), signal.SIGKILL)
        return response
