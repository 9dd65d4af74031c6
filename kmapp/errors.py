"""Domain errors. `kmapp.api.errors` converts them to HTTP."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar


class DomainError(Exception):
    """A refusal whose message states what happened and what to do about it."""

    status: ClassVar[int] = 400
    code: str = "invalid_request"

    def __init__(
        self,
        message: str,
        *,
        code: str | None = None,
        details: Mapping[str, Any] | None = None,
        issues: Sequence[Mapping[str, str]] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.code
        self.details = dict(details or {})
        self.issues = [dict(issue) for issue in issues]

    def body(self) -> dict[str, Any]:
        return {
            "status": self.status,
            "error": self.code,
            "message": self.message,
            "detail": self.message,
            "details": self.details,
            "issues": self.issues,
        }


class Invalid(DomainError):
    """The request is invalid; `issues` name the places."""


class Denied(DomainError):
    status = 403
    code = "forbidden"


class NotFound(DomainError):
    status = 404
    code = "not_found"


class Conflict(DomainError):
    status = 409
    code = "conflict"


class Gone(DomainError):
    """The object was permanently erased."""

    status = 410
    code = "gone"


class TooLarge(DomainError):
    status = 413
    code = "too_large"


class Waiting(DomainError):
    def __init__(self, message: str, *, retry_after: float, **fields: Any) -> None:
        super().__init__(message, **fields)
        self.retry_after = retry_after  # seconds


class OverBudget(Waiting):
    status = 429
    code = "rate_limited"


class Unavailable(Waiting):
    status = 503
    code = "unavailable"


class ReadOnly(Unavailable):
    """The account cannot be written.

    A person must decide first, or the checkpoints must be readable again.
    """

    code = "read_only"


def list_issues(messages: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Return the issues of a `ValidationError` from its `message_dict`."""
    return [{"path": name, "message": text} for name, texts in messages.items() for text in texts]
