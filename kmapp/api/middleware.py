"""Middleware: request id, access log, body limit, optional trailing slash."""

import io
import re
from collections.abc import Callable
from http import HTTPStatus
from time import perf_counter
from typing import Any

import structlog
from django.conf import settings
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest, HttpResponse
from gunicorn.http.errors import ParseException  # type: ignore[import-untyped]

from kmapp.api.errors import Refusal, as_json, is_api, refusal
from kmapp.api.metrics import REQUEST_SECONDS
from kmapp.database.ids import uuid7

Answer = Callable[[HttpRequest], HttpResponse]
log = structlog.get_logger()
SANE_ID = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")
PIECE = 64 * 1024
# Bytes of a refused body that are still read, so that the client gets the response before the
# connection is closed.
LINGER = 256 * 1024 * 1024
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class RequestId:
    """Assign a request ID, return it in a header, and log the request without body and query."""

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Use the caller's request ID if it is valid, else a new one."""
        theirs = request.headers.get("X-Request-Id", "")
        name = theirs if SANE_ID.fullmatch(theirs) else str(uuid7())
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=name)
        request.request_id = name  # type: ignore[attr-defined] # error pages show it
        started = perf_counter()
        response = self.get_response(request)
        response["X-Request-Id"] = name
        _log_request(request, response, perf_counter() - started)
        return response


def _log_request(request: HttpRequest, response: HttpResponse, seconds: float) -> None:
    match = request.resolver_match
    if match is None and response.status_code < HTTPStatus.BAD_REQUEST:
        return  # a static file, or a redirect that adds a slash
    route = match.route if match else "unmatched"
    method = request.method if request.method in METHODS else "other"  # clients may send any word
    REQUEST_SECONDS.labels(method, route, str(response.status_code)).observe(seconds)
    identity: dict[str, Any] = {}
    principal = getattr(request, "auth", None)
    if principal is not None:
        identity = {"account": str(principal.account_id), "key": str(principal.key_id)}
    log.info(
        "request",
        method=request.method,
        route=route,
        status=response.status_code,
        ms=round(seconds * 1000, 1),
        **identity,
    )


class BodyLimit:
    """Refuse API bodies that are too large; read chunked ones up to the limit.

    Django treats a body without Content-Length as empty. Pages have `kmapp.web.upload_limits`.
    """

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: WSGIRequest) -> HttpResponse:
        """Return a 413, or pass the request on with a body of known length."""
        size_refusal = _read_or_refuse(request) if is_api(request.path_info) else None
        return as_json(size_refusal) if size_refusal else self.get_response(request)


def _read_or_refuse(request: WSGIRequest) -> Refusal | None:
    """Read a chunked body within the limit; return a refusal if it is too large or incomplete."""
    limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    try:
        if "chunked" in request.headers.get("Transfer-Encoding", "").lower():
            whole = _read(request.environ["wsgi.input"], limit)
            if whole is not None:
                _set_body(request, whole)
                return None
        elif declared(request) <= limit:
            return None
        else:
            skip_body(request)
    except (OSError, ParseException):  # interrupted, or chunks are malformed
        return refusal(400, "The request body did not arrive whole.")
    return refusal(413, f"The request body is larger than {limit} bytes.")


def declared(request: HttpRequest) -> int:
    """Return the declared length of the body in bytes."""
    length = request.META.get("CONTENT_LENGTH") or "0"
    return int(length) if length.isascii() and length.isdigit() else 0


def _read(source: Any, limit: int) -> bytes | None:
    """Return the whole body, or None if it exceeds the limit."""
    buffer = io.BytesIO()
    while piece := source.read(PIECE):
        buffer.write(piece)
        if buffer.tell() > limit:
            skip_body(source)
            return None
    return buffer.getvalue()


def skip_body(source: Any) -> None:
    """Read and discard the rest of a body, up to a limit."""
    most = LINGER
    while most > 0 and (piece := source.read(PIECE)):
        most -= len(piece)


def _set_body(request: WSGIRequest, body: bytes) -> None:
    """Initialize the request again with a body of known length."""
    request.environ |= {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}
    WSGIRequest.__init__(request, request.environ)


class OptionalSlash:
    """Remove a final slash: routes have none, and clients that send one follow no redirect."""

    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Remove one slash."""
        if is_api(request.path_info) and request.path_info.endswith("/"):
            request.path_info = request.path_info[:-1]
            request.path = request.path[:-1]
        return self.get_response(request)
