"""Conversion of errors to HTTP responses: `translate_error` maps every kind, DRF calls `render`."""

import errno
import math
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any, TypeGuard

import psycopg
import structlog
from django.core.exceptions import (
    PermissionDenied,
    RequestDataTooBig,
    SuspiciousOperation,
    ValidationError,
)
from django.db import InterfaceError, InternalError, OperationalError, ProgrammingError
from django.http import Http404, JsonResponse, UnreadablePostError
from django.urls import Resolver404
from rest_framework import exceptions as drf
from rest_framework.response import Response

from kmapp.errors import DomainError

log = structlog.get_logger()

# Paths that answer in JSON. Those after the first line belong to the protocols of `interop`.
API_PREFIXES = (
    *("/v1", "/health", "/metrics"),
    *("/v2", "/v3", "/api/v1", "/store", "/ok", "/version"),
)
RETRY_AFTER = 2  # seconds, when the database is too busy or away
CHALLENGE = 'Bearer realm="kmapp"'
UNREADABLE = "The request is not valid JSON or not valid for this endpoint."
NOT_JSON = "Send the body as JSON, with the header `Content-Type: application/json`."
NO_ENDPOINT = (
    "Not found: no endpoint has this path. Check it, and the IDs in it; "
    "/v1/docs lists all endpoints."
)
CODES = {
    400: "invalid_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    406: "not_acceptable",
    413: "too_large",
    415: "unsupported_media_type",
    429: "rate_limited",
    500: "internal_error",
    503: "unavailable",
}


def is_api(path: str) -> bool:
    """Return whether responses at this path are JSON, errors included."""
    return any(path == prefix or path.startswith(prefix + "/") for prefix in API_PREFIXES)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """An error response: status, body and headers."""

    status: int
    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def passes(self) -> bool:
        """Return whether the same request may succeed later."""
        return self.status >= HTTPStatus.INTERNAL_SERVER_ERROR or "Retry-After" in self.headers


def build_refusal(status: int, message: str, **headers: str) -> Refusal:
    """Return a refusal that no DomainError represents."""
    body = DomainError(message, code=CODES[status]).body() | {"status": status}
    return Refusal(
        status=status, body=body, headers={k.replace("_", "-"): v for k, v in headers.items()}
    )


def build_server_error() -> Refusal:
    """Return the refusal for a bug, which says nothing about it."""
    return build_refusal(500, "Something went wrong here. It has been logged.")


def translate_error(error: BaseException) -> Refusal | None:
    """Return the refusal for an error, or None if the error is a bug."""
    if isinstance(error, DomainError):
        return _translate_domain_error(error)
    if isinstance(error, drf.APIException):
        return _translate_drf_error(error)
    if isinstance(error, ValidationError):
        return _build_invalid(
            _list_issues(error.message_dict if hasattr(error, "error_dict") else error.messages)
        )
    if (
        isinstance(error, OperationalError | InterfaceError)
        or _is_read_only_disk(error)
        or _is_idle_timeout(error)
    ):
        return _translate_database_error(error)
    return _translate_django_error(error)


def render(error: Exception, context: Mapping[str, Any]) -> Response | None:
    """Return the error response; None if Django shall log it and call `render_server_error`."""
    translated = translate_error(error)
    if translated is None:
        return None
    return Response(translated.body, status=translated.status, headers=translated.headers)


def render_refusal(translated: Refusal) -> JsonResponse:
    return JsonResponse(translated.body, status=translated.status, headers=translated.headers)


def render_client_error(error: Exception) -> JsonResponse:
    """Return the response for a client's error outside any view."""
    return render_refusal(translate_error(error) or build_refusal(400, UNREADABLE))


def render_server_error(error: BaseException | None) -> JsonResponse:
    """Return the response for errors outside any view, and for bugs."""
    translated = error and translate_error(error)
    return render_refusal(translated or build_server_error())


def _translate_domain_error(error: DomainError) -> Refusal:
    headers = {}
    retry_after = getattr(error, "retry_after", None)
    if retry_after is not None:
        headers["Retry-After"] = str(max(1, math.ceil(retry_after)))
    if error.status == drf.NotAuthenticated.status_code:
        headers["WWW-Authenticate"] = CHALLENGE
    return Refusal(status=error.status, body=_clean_text(error.body()), headers=headers)


def _translate_drf_error(error: drf.APIException) -> Refusal:
    if isinstance(error, drf.ValidationError):
        return _build_invalid(_list_issues(error.detail))
    if isinstance(error, drf.NotFound):
        return build_refusal(404, "Not found.")
    if isinstance(error, drf.UnsupportedMediaType):
        return build_refusal(415, NOT_JSON)
    status = error.status_code
    is_unauthenticated = isinstance(error, drf.NotAuthenticated | drf.AuthenticationFailed)
    headers = {"WWW_Authenticate": CHALLENGE} if is_unauthenticated else {}
    return build_refusal(
        status if status in CODES else 400, _join_messages(error.detail), **headers
    )


def _is_read_only_disk(error: BaseException) -> TypeGuard[ProgrammingError]:
    """Return whether the database cannot write its files, which it reports as a privilege."""
    is_about_privileges = isinstance(error.__cause__, psycopg.errors.InsufficientPrivilege)
    return is_about_privileges and os.strerror(errno.EROFS) in str(error.__cause__)


def _is_idle_timeout(error: BaseException) -> TypeGuard[InternalError]:
    """Return whether the database ended a transaction because this process paused in it."""
    return isinstance(error.__cause__, psycopg.errors.IdleInTransactionSessionTimeout)


def _translate_database_error(error: Exception) -> Refusal | None:
    """Return a 503 if the database is full, slow or away; program limits (class 54) are bugs."""
    cause = error.__cause__
    state = getattr(cause, "sqlstate", None) or ""
    if state.startswith("54"):
        return None
    log.warning("database_refused", sqlstate=state, kind=type(cause or error).__name__)
    slow = isinstance(cause, psycopg.errors.QueryCanceled)
    message = "The database took too long." if slow else "The database is busy. Try again shortly."
    return build_refusal(503, message, Retry_After=str(RETRY_AFTER))


def _translate_django_error(error: BaseException) -> Refusal | None:
    if isinstance(error, Resolver404):
        return build_refusal(404, NO_ENDPOINT)
    if isinstance(error, Http404):
        return build_refusal(404, "Not found.")
    if isinstance(error, PermissionDenied):
        return build_refusal(403, "Not allowed.")
    if isinstance(error, RequestDataTooBig):
        return build_refusal(413, "The request body is too large.")
    if isinstance(error, SuspiciousOperation | UnreadablePostError):
        return build_refusal(400, UNREADABLE)
    return None


def _build_invalid(issues: list[dict[str, str]]) -> Refusal:
    first = issues[0] if issues else {"path": "", "message": "The request is not valid."}
    message = f"{first['path']}: {first['message']}" if first["path"] else first["message"]
    return Refusal(
        status=400, body=_clean_text(build_refusal(400, message).body | {"issues": issues})
    )


def _list_issues(detail: Any) -> list[dict[str, str]]:
    return [{"path": ".".join(path), "message": text} for path, text in _walk_problems(detail, ())]


def _walk_problems(detail: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield problems with their paths: {"nodes": [{}, {"kind": ["…"]}]} gives nodes.1.kind."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            # DRF's word for "the object as a whole".
            yield from _walk_problems(
                inner, path if name in ("non_field_errors", "__all__") else (*path, str(name))
            )
    elif isinstance(detail, list):
        for place, inner in enumerate(detail):
            # A list of texts is about this place, a list of objects about its items.
            yield from _walk_problems(
                inner, (*path, str(place)) if isinstance(inner, Mapping | list) else path
            )
    else:
        yield path, str(detail)


def _join_messages(detail: Any) -> str:
    return "; ".join(text for _, text in _walk_problems(detail, ())) or "Refused."


def _clean_text(value: Any) -> Any:
    """Return the text as valid UTF-8, because errors may quote hostile text."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {_clean_text(name): _clean_text(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_clean_text(inner) for inner in value]
    return value
