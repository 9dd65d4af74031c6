"""The native API, called from inside the process.

A protocol endpoint translates a request, calls the native endpoint, and translates its response.
Authentication, scopes, rate limits, idempotency, redaction and the ledger therefore apply as in
`/v1`: there is no second implementation of them.
"""

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import resolve
from rest_framework.response import Response
from rest_framework.utils.encoders import JSONEncoder

NativeView = Callable[..., HttpResponseBase]
# Headers by which the native API recognises a repeated request.
REPETITION_HEADERS = ("HTTP_IDEMPOTENCY_KEY", "HTTP_X_REQUEST_ID")
# Headers of a native response that hold for the response of the protocol too.
PASSED_HEADERS = (
    *("Retry-After", "WWW-Authenticate", "Idempotent-Replayed", "X-KM-Variant"),
    *("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"),
)


@dataclass(frozen=True, slots=True)
class NativeResponse:
    """Status, decoded body and headers of a native response."""

    status: int
    data: Any
    headers: Mapping[str, str] = field(default_factory=dict)


class NativeError(Exception):
    """A native endpoint answered with an error status."""

    def __init__(self, response: NativeResponse) -> None:
        super().__init__(f"The native API answered {response.status}.")
        self.response = response


def call(
    request: HttpRequest,
    method: str,
    path: str,
    data: Mapping[str, Any] | None = None,
    *,
    idempotent: bool = False,
    view: NativeView | None = None,
) -> NativeResponse:
    """Call a native endpoint with the credentials of `request`.

    `data` is the JSON body, or the query of a GET. With `idempotent`, the Idempotency-Key and the
    ID of the request are passed on; leave it out when one request makes several calls. `view`
    replaces the one of the path: the same endpoint with other options. Raise NativeError if the
    status is 400 or higher.
    """
    inner = _build_request(request, method, path, data or {}, idempotent=idempotent)
    match = resolve(path)
    inner.resolver_match = match
    response = (view or match.func)(inner, *match.args, **match.kwargs)
    request.auth = getattr(inner, "auth", None)  # type: ignore[attr-defined] # for the access log
    headers = {name: response.headers[name] for name in PASSED_HEADERS if name in response.headers}
    answer = NativeResponse(response.status_code, _decode(response), headers)
    if answer.status >= HTTPStatus.BAD_REQUEST:
        raise NativeError(answer)
    return answer


def _build_request(
    request: HttpRequest, method: str, path: str, data: Mapping[str, Any], *, idempotent: bool
) -> WSGIRequest:
    is_query = method == "GET"
    body = b"" if is_query else json.dumps(data, cls=JSONEncoder).encode()
    query = {name: value for name, value in data.items() if value is not None} if is_query else {}
    environ = {
        **request.META,
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "QUERY_STRING": urlencode(query, doseq=True),
        "CONTENT_TYPE": "application/json",
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.input": io.BytesIO(body),
    }
    environ.pop("HTTP_TRANSFER_ENCODING", None)
    if not idempotent:
        for name in REPETITION_HEADERS:
            environ.pop(name, None)
    return WSGIRequest(environ)


def _decode(response: HttpResponseBase) -> Any:
    if isinstance(response, Response):
        return response.data
    content = response.content if isinstance(response, HttpResponse) else b""
    return json.loads(content) if content else None
