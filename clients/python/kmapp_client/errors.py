"""Errors of the API as exceptions."""

import time
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from typing import Any


class KmappError(Exception):
    """An error response. `code` is stable; `message` is for people and may change.

    `retry_after` is the number of seconds after which the server expects another attempt, or 0.
    """

    retry_after: float = 0.0

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        code: str = "",
        issues: Sequence[Mapping[str, str]] = (),
        details: Mapping[str, Any] | None = None,
        request_id: str = "",
    ) -> None:
        super().__init__(f"{message} ({code})" if code else message)
        self.message, self.status, self.code = message, status, code
        self.issues, self.details, self.request_id = list(issues), dict(details or {}), request_id


class InvalidRequest(KmappError):
    """The request is not valid; `issues` names the fields."""


class Unauthorized(KmappError):
    """The key is missing, unknown, expired or revoked."""


class Forbidden(KmappError):
    """The key lacks a scope, or a person has to decide."""


class NotFound(KmappError):
    """There is no such object, or the key may not see it."""


class Conflict(KmappError):
    """The object changed in the meantime, or an ID was used with other content."""


class Gone(KmappError):
    """The object was erased."""


class RateLimited(KmappError):
    """Too many requests; see `retry_after`."""


class ServerError(KmappError):
    """The server failed, or is not available."""


class ConnectionFailed(KmappError):
    """No response came."""


BY_STATUS: Mapping[int, type[KmappError]] = {
    HTTPStatus.UNAUTHORIZED: Unauthorized,
    HTTPStatus.FORBIDDEN: Forbidden,
    HTTPStatus.NOT_FOUND: NotFound,
    HTTPStatus.CONFLICT: Conflict,
    HTTPStatus.GONE: Gone,
    HTTPStatus.TOO_MANY_REQUESTS: RateLimited,
}


def build_error(status: int, body: Any, headers: Mapping[str, str]) -> KmappError:
    """Return the exception for an error response; `body` is its JSON, if it is JSON."""
    default = ServerError if status >= HTTPStatus.INTERNAL_SERVER_ERROR else InvalidRequest
    fields = body if isinstance(body, Mapping) else {}
    error = BY_STATUS.get(status, default)(
        str(fields.get("message") or _describe(status, headers)),
        status=status,
        code=str(fields.get("error", "")),
        issues=fields.get("issues") or (),
        details=fields.get("details"),
        request_id=headers.get("X-Request-Id", ""),
    )
    error.retry_after = read_retry_after(headers)
    return error


def _describe(status: int, headers: Mapping[str, str]) -> str:
    """Return the message of a response that has none, such as that of a proxy."""
    if location := headers.get("Location"):
        return f"The server redirects to {location}. Check the base_url of the client."
    return f"The server answered {status}."


def read_retry_after(headers: Mapping[str, str]) -> float:
    """Return the seconds of a Retry-After, which may be a date, or 0."""
    value = headers.get("Retry-After") or "0"
    try:
        return seconds if (seconds := float(value)) > 0 else 0.0  # also of NaN
    except ValueError:
        pass
    try:
        return max(parsedate_to_datetime(value).timestamp() - time.time(), 0.0)
    except ValueError:
        return 0.0
