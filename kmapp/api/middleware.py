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
from opentelemetry.trace import Span, SpanKind, StatusCode
from prometheus_client import Histogram

from kmapp.api.errors import Refusal, build_refusal, is_api, render_refusal
from kmapp.database.ids import uuid7
from kmapp.runtime import tracing

REQUEST_SECONDS = Histogram(
    "kmapp_request_seconds",
    "How long requests took, by route and status.",
    ["method", "route", "status"],
    buckets=(0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 15),
)

Answer = Callable[[HttpRequest], HttpResponse]
log = structlog.get_logger()
SANE_ID = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")
READ_SIZE = 64 * 1024
# Bytes of a refused body that are still read, so that the client gets the response before the
# connection is closed.
MAX_DISCARDED_BYTES = 256 * 1024 * 1024
TOO_LARGE = (
    "The request body is larger than {limit:,} bytes. Send less at a time, or ask the operator "
    "to raise MAX_BODY_BYTES."
)
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Middleware:
    def __init__(self, get_response: Answer) -> None:
        self.get_response = get_response


class RequestId(Middleware):
    """Assign a request ID, return it in a header, and log the request without body and query."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        theirs = request.headers.get("X-Request-Id", "")
        name = theirs if SANE_ID.fullmatch(theirs) else str(uuid7())
        structlog.contextvars.clear_contextvars()
        structlog.contextvars.bind_contextvars(request_id=name)
        request.request_id = name  # type: ignore[attr-defined] # error pages show it
        started = perf_counter()
        parent = request.headers.get(tracing.HEADER, "")
        with tracing.span("request", SpanKind.SERVER, parents=[parent]) as span:
            response = self.get_response(request)
            if span:
                _describe(span, request, response)
        response["X-Request-Id"] = name
        _log_request(request, response, perf_counter() - started)
        return response


def _describe(span: Span, request: HttpRequest, response: HttpResponse) -> None:
    method, route = _normalize_method(request), _get_route(request)
    span.update_name(f"{method} {route}")
    span.set_attributes(
        {
            "http.request.method": method,
            "http.route": route,
            "http.response.status_code": response.status_code,
        }
    )
    if response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
        span.set_status(StatusCode.ERROR)


def _normalize_method(request: HttpRequest) -> str:
    """Return the method, or "other": clients may send any word."""
    return request.method if request.method in METHODS else "other"


def _get_route(request: HttpRequest) -> str:
    return request.resolver_match.route if request.resolver_match else "unmatched"


def _log_request(request: HttpRequest, response: HttpResponse, seconds: float) -> None:
    if request.resolver_match is None and response.status_code < HTTPStatus.BAD_REQUEST:
        return  # a static file, or a redirect that adds a slash
    method, route = _normalize_method(request), _get_route(request)
    REQUEST_SECONDS.labels(method, route, str(response.status_code)).observe(seconds)
    identity: dict[str, Any] = {}
    principal = getattr(request, "auth", None)
    if principal is not None:
        identity = {"account": str(principal.account_id), "key": str(principal.key_id)}
    log.info(
        "request",
        method=method,
        route=route,
        status=response.status_code,
        ms=round(seconds * 1000, 1),
        **identity,
    )


class BodyLimit(Middleware):
    """Refuse API bodies that are too large; read chunked ones up to the limit.

    Django treats a body without Content-Length as empty. Pages have `kmapp.web.body_size_limit`.
    """

    def __call__(self, request: WSGIRequest) -> HttpResponse:
        size_refusal = _read_or_refuse(request) if is_api(request.path_info) else None
        return render_refusal(size_refusal) if size_refusal else self.get_response(request)


def _read_or_refuse(request: WSGIRequest) -> Refusal | None:
    """Read a chunked body within the limit; return a refusal if it is too large or incomplete."""
    limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    try:
        if "chunked" in request.headers.get("Transfer-Encoding", "").lower():
            whole = _read_body(request.environ["wsgi.input"], limit)
            if whole is not None:
                _set_body(request, whole)
                return None
        elif get_content_length(request) <= limit:
            return None
        else:
            skip_body(request)
    except (OSError, ParseException):  # interrupted, or chunks are malformed
        return build_refusal(400, "The request body did not arrive whole.")
    return build_refusal(413, TOO_LARGE.format(limit=limit))


def get_content_length(request: HttpRequest) -> int:
    length = request.META.get("CONTENT_LENGTH") or "0"
    return int(length) if length.isascii() and length.isdigit() else 0


def _read_body(source: Any, limit: int) -> bytes | None:
    """Return the whole body, or None if it exceeds the limit."""
    buffer = io.BytesIO()
    while piece := source.read(READ_SIZE):
        buffer.write(piece)
        if buffer.tell() > limit:
            skip_body(source)
            return None
    return buffer.getvalue()


def skip_body(source: Any) -> None:
    """Read and discard the rest of a body, up to a limit."""
    remaining = MAX_DISCARDED_BYTES
    while remaining > 0 and (piece := source.read(READ_SIZE)):
        remaining -= len(piece)


def _set_body(request: WSGIRequest, body: bytes) -> None:
    """Initialize the request again with a body of known length."""
    request.environ |= {"wsgi.input": io.BytesIO(body), "CONTENT_LENGTH": str(len(body))}
    WSGIRequest.__init__(request, request.environ)


class OptionalSlash(Middleware):
    """Remove a final slash: routes have none, and clients that send one follow no redirect."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if is_api(request.path_info) and request.path_info.endswith("/"):
            request.path_info = request.path_info[:-1]
            request.path = request.path[:-1]
        return self.get_response(request)
