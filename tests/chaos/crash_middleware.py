"""A web process that dies between the deed and its answer."""

import os
import signal
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

CUT = "X-Chaos-Cut"


class Cut:
    """What was asked for is done and committed; this process is gone, and nobody hears of it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer, unless the request asks for the end."""
        response = self.get_response(request)
        if CUT in request.headers:
            os.kill(os.getpid(), signal.SIGKILL)
        return response
